package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// The programs that TestMain has built: the product, and the model behind all faces.
var binary, modelServer string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "openworker-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	binary, modelServer = filepath.Join(dir, "openworker"+suffix), filepath.Join(dir, "modelserver"+suffix)
	for path, source := range map[string]string{binary: "../../cmd/openworker", modelServer: "../modelserver"} {
		if out, err := exec.Command("go", "build", "-o", path, source).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", source, err, out)
			return 1
		}
	}
	return m.Run()
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	eachScenario(t, newEmbedded)
}

func eachScenario(t *testing.T, through func(*application) face) {
	for topic, scenarios := range load(t) {
		for _, s := range scenarios {
			t.Run(topic+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				run(t, s, through)
			})
		}
	}
}

func TestRawStdio(t *testing.T) {
	t.Parallel()
	eachScenario(t, newRawStdio)
}
