package attached

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Heading stands above the list of what is in a tray.
const Heading = "these go with the next message; /detach takes one back:"

// Nothing says that a tray is empty.
const Nothing = "nothing is attached; /attach FILE adds a file to the next message"

// Tray keeps the files that go with the next message. The zero value is empty. It is for one goroutine.
type Tray struct{ files []File }

// Files are what is in it, in their order. The caller must not change them.
func (t *Tray) Files() []File { return t.files }

// Put adds files: all, or none where they are too much for one message or one is there already.
func (t *Tray) Put(files ...File) error {
	all := slices.Clone(t.files)
	for _, f := range files {
		if slices.ContainsFunc(all, func(other File) bool { return other.Path == f.Path }) {
			return api.Errorf(api.CodeInvalidRequest, "the file %q is attached already; name it once", f.Path)
		}
		all = append(all, f)
	}
	if err := Check("", all); err != nil {
		return err
	}
	t.files = all
	return nil
}

// Take gives out all files, for the message that is sent now.
func (t *Tray) Take() []File {
	files := t.files
	t.files = nil
	return files
}

// Back brings files back that a message was not sent with, before those that were attached since.
func (t *Tray) Back(files ...File) { t.files = slices.Concat(files, t.files) }

// Drop takes out what is named: "all", a file by its name or path, or with "" the only one that there is.
func (t *Tray) Drop(what string) ([]File, error) {
	switch {
	case len(t.files) == 0:
		return nil, api.Errorf(api.CodeInvalidRequest, "nothing is attached")
	case what == "all", what == "" && len(t.files) == 1:
		return t.Take(), nil
	case what == "":
		return nil, api.Errorf(api.CodeInvalidRequest, "%d files are attached; name one, or all: %s", len(t.files), strings.Join(t.Names(), ", "))
	}
	if words, open := split(what); len(words) == 1 && !open {
		what = words[0].text
	}
	for n := len(t.files) - 1; n >= 0; n-- { // of several with one name the newest
		if f := t.files[n]; f.Name == what || f.Path == filepath.Clean(what) {
			t.files = slices.Delete(slices.Clone(t.files), n, n+1)
			return []File{f}, nil
		}
	}
	return nil, api.Errorf(api.CodeInvalidRequest, "no file %q is attached; there are %s", what, strings.Join(t.Names(), ", "))
}

// Names are those of the files.
func (t *Tray) Names() (names []string) {
	for _, f := range t.files {
		names = append(names, f.Name)
	}
	return names
}
