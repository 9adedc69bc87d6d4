package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// postgres is a PostgreSQL server with its default settings, over a directory of its own.
type postgres struct {
	cmd     *exec.Cmd
	address string // postgres://…:PORT/
}

// postgresProgram finds a program of the server: on the path, or where Debian's packages put it.
func postgresProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", fmt.Errorf("PostgreSQL's %s is not on this machine", name)
	}
	return found[len(found)-1], nil
}

// startPostgres runs as the user postgres where this one is root, which the server refuses.
func startPostgres(ctx context.Context, dir string) (*postgres, error) {
	programs := map[string]string{}
	for _, name := range []string{"initdb", "postgres", "psql"} {
		path, err := postgresProgram(name)
		if err != nil {
			return nil, err
		}
		programs[name] = path
	}
	home, err := os.MkdirTemp(dir, "postgres-")
	if err != nil {
		return nil, err
	}
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 {
		if as, err = giveTo("postgres", dir, home); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(home, "data")
	initdb := exec.CommandContext(ctx, programs["initdb"], "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
	initdb.Dir, initdb.SysProcAttr = home, as
	if said, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, tail(string(said)))
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &postgres{address: fmt.Sprintf("postgres://postgres@127.0.0.1:%d/", port)}
	p.cmd = exec.Command(programs["postgres"], "-D", data, "-c", "listen_addresses=127.0.0.1", "-p", strconv.Itoa(port),
		"-c", "unix_socket_directories="+home, "-c", "max_connections=200")
	p.cmd.Dir, p.cmd.SysProcAttr = home, as
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	var last error
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(100 * time.Millisecond) {
		if _, last = p.query(ctx, "postgres", "SELECT 1"); last == nil {
			return p, nil
		}
	}
	p.stop()
	return nil, fmt.Errorf("PostgreSQL did not start: %w", last)
}

// giveTo makes another user the owner of a directory, and lets it pass through the one above.
func giveTo(name, above, dir string) (*syscall.SysProcAttr, error) {
	account, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(above, 0o711); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, os.Chown(dir, int(uid), int(gid))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// create makes a database and returns its URL.
func (p *postgres) create(ctx context.Context, name string) (string, error) {
	_, err := p.query(ctx, "postgres", fmt.Sprintf("CREATE DATABASE %q", name))
	return p.address + name + "?sslmode=disable", err
}

// sizes are those of a database, and of what the server has logged so far.
func (p *postgres) sizes(ctx context.Context, database string) (stored, logged int64, err error) {
	said, err := p.query(ctx, "postgres", fmt.Sprintf("SELECT pg_database_size('%s'), pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint", database))
	if err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscanf(said, "%d|%d", &stored, &logged)
	return stored, logged, err
}

func (p *postgres) query(ctx context.Context, database, statement string) (string, error) {
	psql, err := postgresProgram("psql")
	if err != nil {
		return "", err
	}
	said, err := exec.CommandContext(ctx, psql, p.address+database, "-XAtc", statement).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, tail(string(said)))
	}
	return strings.TrimSpace(string(said)), nil
}

// cpu is what the server's processes have used, those that have ended included.
func (p *postgres) cpu() time.Duration {
	pid := p.cmd.Process.Pid
	own := usageOfProcess(pid)
	total := own.cpu + own.children
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range found {
		child, _ := strconv.Atoi(filepath.Base(path))
		if u := usageOfProcess(child); u.parent == pid {
			total += u.cpu
		}
	}
	return total
}

func (p *postgres) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt) // its fast shutdown
	_ = p.cmd.Wait()
}
