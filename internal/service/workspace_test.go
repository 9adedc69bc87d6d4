package service_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/store/memstore"
)

// hosted opens a service with directories of its own and one agent.
func hosted(t *testing.T, cfg service.Config) (*service.Service, api.AgentReference) {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = memstore.New(memstore.Config{})
	}
	s, err := service.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	ref, err := s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "assistant", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	return s, ref
}

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func link(t *testing.T, target, name string) string {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// SE5: a tool must not reach the state directory through its workspace.
func TestAWorkspaceIsKeptApartFromTheStateDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	state := mkdir(t, root, "home", "state")
	project := mkdir(t, root, "project")
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	linkedState := link(t, state, filepath.Join(root, "linked-state"))
	tests := []struct {
		name      string
		workspace string
		want      api.Code
	}{
		{"a directory of its own", project, ""},
		{"a link to a directory of its own", link(t, project, filepath.Join(root, "to-project")), ""},
		{"a directory whose name begins like the state directory's", mkdir(t, root, "home", "state2"), ""},
		{"the state directory", state, api.CodeInvalidWorkspace},
		{"a directory in the state directory", mkdir(t, state, "inner"), api.CodeInvalidWorkspace},
		{"a directory that holds the state directory", filepath.Join(root, "home"), api.CodeInvalidWorkspace},
		{"the root of the file system", "/", api.CodeInvalidWorkspace},
		{"a link to the state directory", linkedState, api.CodeInvalidWorkspace},
		{"a link into the state directory", link(t, filepath.Join(state, "inner"), filepath.Join(root, "into")), api.CodeInvalidWorkspace},
		{"a link to a directory that holds the state directory", link(t, filepath.Join(root, "home"), filepath.Join(root, "above")), api.CodeInvalidWorkspace},
		{"a way round through a parent", filepath.Join(project, "..", "home", "state"), api.CodeInvalidWorkspace},
		{"a way round through a link's parent", filepath.Join(root, "into") + "/..", api.CodeInvalidWorkspace},
		{"a file", file, api.CodeInvalidWorkspace},
		{"a link to nowhere", link(t, filepath.Join(root, "nowhere"), filepath.Join(root, "dangling")), api.CodeInvalidWorkspace},
		{"a link to itself", link(t, filepath.Join(root, "loop"), filepath.Join(root, "loop")), api.CodeInvalidWorkspace},
		{"a name that is too long", filepath.Join(root, strings.Repeat("n", 5000)), api.CodeInvalidWorkspace},
	}
	for _, stateDir := range []string{state, linkedState} {
		s, agent := hosted(t, service.Config{StateDir: stateDir, ScratchDir: t.TempDir()})
		for _, tt := range tests {
			ref, err := s.CreateSession(t.Context(), agent, api.SessionOptions{Workspace: tt.workspace})
			if api.CodeOf(err) != tt.want {
				t.Errorf("%s: got %v, want code %q", tt.name, err, tt.want)
				continue
			}
			if err != nil {
				continue
			}
			st, err := s.State(t.Context(), ref.Session)
			if err != nil {
				t.Fatal(err)
			}
			if real, _ := filepath.EvalSymlinks(tt.workspace); st.Workspace != real {
				t.Errorf("%s: the workspace is %s, want %s", tt.name, st.Workspace, real)
			}
		}
		page, err := s.Sessions(t.Context(), api.SessionQuery{})
		if err != nil || len(page.Sessions) != 3 {
			t.Errorf("there are %d sessions (%v), want the 3 that were not refused", len(page.Sessions), err)
		}
	}
}

// SE5, SE6: a scratch directory is private, lies outside the state directory, and goes with its session.
func TestAScratchDirectoryIsPrivateAndGoesWithItsSession(t *testing.T) {
	t.Parallel()
	scratch := filepath.Join(t.TempDir(), "not", "there", "yet")
	s, agent := hosted(t, service.Config{ScratchDir: scratch, StateDir: t.TempDir()})
	var dirs []string
	var ids []string
	for range 2 {
		ref, err := s.CreateSession(t.Context(), agent, api.SessionOptions{Scratch: api.Set(true)})
		if err != nil {
			t.Fatal(err)
		}
		st, err := s.State(t.Context(), ref.Session)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(st.Workspace)
		if err != nil || info.Mode().Perm() != 0o700 || !strings.HasPrefix(st.Workspace, scratch) {
			t.Fatalf("the scratch directory is %s (%v, %v)", st.Workspace, info, err)
		}
		if err := os.WriteFile(filepath.Join(st.Workspace, "file"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		dirs, ids = append(dirs, st.Workspace), append(ids, ref.Session)
	}
	if dirs[0] == dirs[1] {
		t.Fatal("two sessions share a scratch directory")
	}
	project := t.TempDir()
	ref, err := s.CreateSession(t.Context(), agent, api.SessionOptions{Workspace: project})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{ids[0], ref.Session} {
		if err := s.DeleteSession(t.Context(), id, api.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil { // it waits for the clean-up
		t.Fatal(err)
	}
	if _, err := os.Stat(dirs[1]); err != nil {
		t.Errorf("another session's scratch directory is gone: %v", err)
	}
	if _, err := os.Stat(project); err != nil {
		t.Errorf("a workspace that was given is gone: %v", err)
	}
}

// SE5: a state directory that a scratch directory would lie in is the host's mistake, told at the session's creation.
func TestAScratchDirectoryInsideTheStateDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s, agent := hosted(t, service.Config{StateDir: state, ScratchDir: filepath.Join(state, "scratch")})
	if _, err := s.CreateSession(t.Context(), agent, api.SessionOptions{}); api.CodeOf(err) != api.CodeInvalidWorkspace {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(state, "scratch")); err == nil {
		t.Error("a directory was made in the state directory")
	}
}

func TestAServiceIsNotOpenedOnAConfigurationThatCannotWork(t *testing.T) {
	t.Parallel()
	if _, err := service.New(t.Context(), service.Config{}); api.CodeOf(err) != api.CodeInvalidRequest {
		t.Errorf("without a store: %v", err)
	}
}
