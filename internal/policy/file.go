package policy

import (
	"crypto/sha256"
	"fmt"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/model"
)

// label is a file's name as errors and verdicts tell it: a name may hold what hides or reorders text.
func label(name string) string { return Plain(name, api.MaxFileNameBytes) }

// size is the size of a part in bytes: a text's, or a file's, also where its body is not here.
func size(part model.Part) int64 {
	return max(part.Size, int64(len(part.Data)), int64(len(part.Text)))
}

// opaque reports whether a part is a file that no guardrail can look into.
func opaque(part model.Part) bool {
	return part.IsImage() || part.IsPDF() || part.MediaType != "" && !utf8.Valid(part.Data)
}

// file screens a file. What is redacted of a text file is another file of the same name, which nobody keeps yet.
func (s *screening) file(part model.Part) (model.Part, *api.Error) {
	switch total, here := size(part), int64(len(part.Data)); {
	case opaque(part):
		return part, s.refuse(uninspectable(&s.guards[0], s.unit.Point, part, 0))
	case total > api.MaxGuardedBytes:
		return part, s.refuse(oversized(&s.guards[0], s.unit.Point, part))
	case here < total: // nobody can say of the rest that it may pass
		v := verdictOn(&s.guards[0], s.unit.Point, part)
		v.Reason = fmt.Sprintf("only %d of its %d bytes are here", here, total)
		return part, s.refuse(v, refusal(v))
	case here == 0:
		return part, nil
	}
	key := looked{file: part.Name, sum: sha256.Sum256(part.Data)}
	was, ok := s.recall(key)
	if !ok {
		var err *api.Error
		if was, err = s.ask(key, string(part.Data)); err != nil {
			return part, err
		}
	}
	if was.changed {
		part.ID, part.Data, part.Size = "", []byte(was.text), int64(len(was.text))
	}
	return part, nil
}

func (s *screening) refuse(v api.GuardVerdict, err *api.Error) *api.Error {
	s.verdicts = append(s.verdicts, v)
	return err
}

// verdictOn is a verdict on a part that no guardrail was asked about, without its reason.
func verdictOn(g *guard.Guardrail, point guard.Point, part model.Part) api.GuardVerdict {
	return api.GuardVerdict{Name: g.Name, Point: string(point), Action: actionFail, File: label(part.Name)}
}

// oversized refuses a text or a text file that is too large to be looked at.
func oversized(g *guard.Guardrail, point guard.Point, part model.Part) (api.GuardVerdict, *api.Error) {
	v := tooLarge(g, point, int(size(part)))
	v.File = label(part.Name)
	return v, refusal(v).With("bytes", fmt.Sprint(size(part)))
}

// uninspectable refuses a file that no guardrail can look into (AT7), and counts others like it.
func uninspectable(g *guard.Guardrail, point guard.Point, part model.Part, others int) (api.GuardVerdict, *api.Error) {
	v := verdictOn(g, point, part)
	v.Reason = fmt.Sprintf("it looks at texts, and this file of type %s is none; leave the file out, or do without the guardrail", Plain(part.MediaType, 80))
	if others > 0 {
		v.Reason = fmt.Sprintf("it looks at texts, and this file of type %s is none, as %d more of the message; leave the files out, or do without the guardrail", Plain(part.MediaType, 80), others)
	}
	err := refusal(v)
	err.Code = api.CodeUninspectableContent
	return v, err
}
