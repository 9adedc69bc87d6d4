package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Fault is one thing that is wrong in a file.
type Fault struct {
	Place
	Path    string   `json:"path,omitempty"`
	Code    api.Code `json:"code"`
	Message string   `json:"message"`
}

// Faults are all that is wrong in a file, in its order. [Document.Err] has them as its cause.
type Faults struct {
	File string
	List []Fault
}

// maxTold bounds the faults that an error says.
const maxTold = 20

// Error says each of the first 20 on a line of its own, as FILE:LINE:COLUMN: PATH: MESSAGE, and how many more there are.
func (f *Faults) Error() string {
	var lines []string
	for i, fault := range f.List {
		if i == maxTold {
			lines = append(lines, fmt.Sprintf("%s: and %d more", f.File, len(f.List)-i))
			break
		}
		message := fault.Message
		if fault.Path != "" && !strings.Contains(message, fault.Path) {
			message = fault.Path + ": " + message
		}
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", f.File, fault.Line, fault.Column, message))
	}
	return strings.Join(lines, "\n")
}

// Fault notes what is wrong with a value. The code is an error's, for a program.
func (d *Document) Fault(v *Value, code api.Code, format string, args ...any) {
	d.faults.File = d.File
	d.faults.List = append(d.faults.List, Fault{Place: v.Place, Path: v.Path, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Count is how many faults were noted so far.
func (d *Document) Count() int { return len(d.faults.List) }

// Err is nil for a file without faults; else an error that has the code of the first, says them all, and has
// [*Faults] as its cause.
func (d *Document) Err() error {
	if len(d.faults.List) == 0 {
		return nil
	}
	found := &Faults{File: d.faults.File, List: slices.Clone(d.faults.List)}
	slices.SortStableFunc(found.List, func(a, b Fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return api.Errorf(found.List[0].Code, "%w", found)
}

// unknown notes a field that is none, with the name that was probably meant.
func (d *Document) unknown(v *Value, f Field, names []string) {
	at := &Value{Place: f.Place, Path: strings.TrimPrefix(v.Path+"."+f.Name, ".")}
	if near := Nearest(f.Name, names); near != "" {
		d.Fault(at, api.CodeInvalidRequest, "there is no field %q; did you mean %q?", f.Name, near)
		return
	}
	d.Fault(at, api.CodeInvalidRequest, "there is no field %q; there are %s", f.Name, strings.Join(names, ", "))
}

// Nearest is the name that was probably meant by another, "" if none is near: letters' case is nothing, and
// at most a third of the letters, or two, are typed wrong.
func Nearest(name string, names []string) string {
	best, nearest := max(2, len(name)/3)+1, ""
	for _, candidate := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < best {
			best, nearest = d, candidate
		}
	}
	return nearest
}

// distance counts the letters to add, to leave out or to change.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
