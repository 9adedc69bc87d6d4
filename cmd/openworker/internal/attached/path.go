package attached

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/openworkerai/openworker/api"
)

// escapes is whether a backslash takes the meaning of what follows it, as in a shell; else it is a part of the path.
const escapes = os.PathSeparator != '\\'

// Paths are the files that a line names, as a shell reads them: with quotes, with backslashes before spaces, with "~" for
// home, or as the addresses of files, all of which terminals type where a file is dropped on them. A line that is as it
// stands the name of a file that is there is that file.
func Paths(line, home string) ([]string, error) {
	line = strings.TrimSpace(line)
	if whole := Expand(line, home); line != "" {
		if _, err := os.Lstat(whole); err == nil {
			return []string{whole}, nil
		}
	}
	words, open := split(line)
	if open {
		return nil, api.Errorf(api.CodeInvalidRequest, "a quotation mark in %q is not closed; close it, or put a backslash before one that belongs to a name", line)
	}
	var paths []string
	for _, w := range words {
		paths = append(paths, Expand(local(w.text), home))
	}
	return paths, nil
}

// Expand puts the home directory in the place of a leading "~".
func Expand(path, home string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || home == "" || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path
	}
	return filepath.Join(home, rest)
}

// local is the path of a file's address; other texts stay as they are.
func local(word string) string {
	if u, err := url.Parse(word); err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") && u.Path != "" {
		if !escapes {
			return filepath.FromSlash(strings.TrimPrefix(u.Path, "/"))
		}
		return u.Path
	}
	return word
}

// word is one of a line.
type word struct {
	text  string
	start int // where it begins in the line
}

// split takes a line apart. open is whether it ends within quotes.
func split(line string) (words []word, open bool) {
	var text strings.Builder
	start, quote, escaped := -1, rune(0), false
	for at, r := range line {
		if start < 0 && !unicode.IsSpace(r) {
			start = at
		}
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				text.WriteByte('\\')
			}
			text.WriteRune(r)
			escaped = false
		case escapes && r == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && unicode.IsSpace(r):
			if start >= 0 {
				words = append(words, word{text.String(), start})
			}
			text.Reset()
			start = -1
		default:
			text.WriteRune(r)
		}
	}
	if escaped {
		text.WriteByte('\\')
	}
	if start >= 0 {
		words = append(words, word{text.String(), start})
	}
	return words, quote != 0
}

// escape writes a path so that [Paths] reads it as one.
func escape(path string) string {
	if !escapes {
		return path
	}
	var b strings.Builder
	for _, r := range path {
		if unicode.IsSpace(r) || strings.ContainsRune(`\'"`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Complete ends the last path of a line as far as it is clear, and gives the names that it may go on with where there are
// several. Names that begin with a dot are offered where one was typed, and files that are never taken not at all.
func Complete(line, home string) (completed string, names []string) {
	words, open := split(line)
	last := word{start: len(line)}
	if n := len(words); n > 0 && (open || !unicode.IsSpace(lastRune(line)) || strings.HasSuffix(words[n-1].text, " ")) {
		last = words[n-1]
	}
	dir, typed := filepath.Split(last.text)
	in := Expand(dir, home)
	if dir == "" {
		in = "."
	}
	entries, err := os.ReadDir(in)
	if err != nil {
		return line, nil
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, typed) || strings.HasPrefix(name, ".") && !strings.HasPrefix(typed, ".") {
			continue
		}
		if info, err := os.Stat(filepath.Join(in, name)); err == nil && info.IsDir() {
			name += "/"
		} else if neverTaken(name) {
			continue
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return line, nil
	}
	common := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	completed = line[:last.start] + escape(dir+strings.ToValidUTF8(common, ""))
	if len(names) > 1 {
		return completed, names
	}
	if !strings.HasSuffix(common, "/") {
		completed += " "
	}
	return completed, nil
}

// neverTaken is whether the name of a file says that it is none which goes with a message: whatever else there is may be text.
func neverTaken(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".7z", ".bz2", ".dmg", ".gz", ".iso", ".jar", ".rar", ".tar", ".tgz", ".xz", ".zip", ".zst", // archives
		".a", ".bin", ".class", ".dll", ".dylib", ".exe", ".o", ".pyc", ".so", ".wasm", // programs
		".avi", ".flac", ".m4a", ".mkv", ".mov", ".mp3", ".mp4", ".ogg", ".wav", ".webm", // sounds and films
		".avif", ".bmp", ".heic", ".ico", ".psd", ".tif", ".tiff", ".ttf", ".woff", ".woff2", // other pictures, and fonts
		".db", ".doc", ".docx", ".odp", ".ods", ".odt", ".ppt", ".pptx", ".sqlite", ".xls", ".xlsx": // office
		return true
	}
	return false
}

func lastRune(text string) (last rune) {
	for _, r := range text {
		last = r
	}
	return last
}
