package attached

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
	"github.com/openworkerai/openworker/internal/content"
)

// File is a file that is to go with a message. Its bytes are those that it had when it was read.
type File struct {
	*api.Attachment
	Path          string
	Width, Height int // of an image, in pixels
}

// String is the file in a line: name, type, pixels and size.
func (f File) String() string {
	return describe(f.Name, f.MediaType, int64(len(f.Data)), f.Width, f.Height)
}

func describe(name, mediaType string, size int64, width, height int) string {
	kind := plain.Brief(mediaType)
	if width > 0 && height > 0 {
		kind += fmt.Sprintf(", %d × %d", width, height)
	}
	return fmt.Sprintf("%s (%s, %s)", plain.Brief(name), kind, Size(size))
}

// Size is a number of bytes for people, in the units of the bounds.
func Size(bytes int64) string {
	switch {
	case bytes == 1:
		return "1 byte"
	case bytes < 1<<10:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// Read reads files and checks each: all of them, or none. The error names the file.
func Read(paths ...string) ([]File, error) {
	files := make([]File, 0, len(paths))
	for _, path := range paths {
		file, err := read(path)
		if err != nil {
			return nil, about(path, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func read(path string) (File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{}, api.Errorf(api.CodeInvalidRequest, "it is not there; check its name and directory")
	case err == nil && info.IsDir():
		return File{}, api.Errorf(api.CodeInvalidRequest, "it is a directory; name the files in it that are to be sent")
	case err == nil && !info.Mode().IsRegular(): // not even opened: a pipe would wait for its writer
		return File{}, api.Errorf(api.CodeInvalidRequest, "it is no regular file; copy into one what is to be sent")
	}
	attachment, err := openworker.AttachmentFromFile(path)
	if errors.Is(err, fs.ErrPermission) {
		return File{}, api.Errorf(api.CodeInvalidRequest, "it cannot be read; make it readable for this user")
	}
	if err != nil {
		return File{}, err
	}
	found, err := content.Inspect(attachment.Name, attachment.MediaType, int64(len(attachment.Data)), bytes.NewReader(attachment.Data))
	if err != nil {
		return File{}, err
	}
	return File{attachment, filepath.Clean(path), found.Width, found.Height}, nil
}

// about names the file in an error that does not.
func about(path string, err error) error {
	e := *api.AsError(err)
	name := filepath.Base(path)
	if strings.Contains(e.Message, name) {
		return &e
	}
	e.Message = fmt.Sprintf("the file %q: %s", path, e.Message)
	return e.With("file", name)
}

// Check refuses a message whose text and files together break a bound (AT3), before any of them is stored.
func Check(text string, files []File) error {
	if len(files) == 0 {
		return nil
	}
	blocks := len(files)
	if text != "" {
		blocks++
	}
	var total int64
	for _, f := range files {
		if total += int64(len(f.Data)); total > api.MaxMessageFileBytes {
			return api.Errorf(api.CodeAttachmentTooLarge, "with %q the files of the message have %d bytes together; at most %d are taken; send it with another message", f.Name, total, int64(api.MaxMessageFileBytes)).
				With("file", f.Name)
		}
	}
	switch {
	case blocks > api.MaxBlocks:
		return api.Errorf(api.CodeInvalidRequest, "the message has %d files and texts; at most %d are taken; send %q with another message", blocks, api.MaxBlocks, files[len(files)-1].Name)
	case len(text) > api.MaxBlockTextBytes:
		return api.Errorf(api.CodeInvalidRequest, "the text has %d bytes; at most %d are taken where files go with it; put it into a file, or send it as a message of its own", len(text), api.MaxBlockTextBytes)
	}
	return nil
}
