package window

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// Kinds of texts: how many bytes make a token differs between them.
var kinds = []string{"prose", "base64", "cjk", "json"}

// text makes a text of a kind, of about so many bytes and of not one more.
func text(rng *rand.Rand, kind string, bytes int) string {
	var b strings.Builder
	for b.Len() < bytes {
		switch kind {
		case "prose":
			b.WriteString(words[rng.IntN(len(words))])
			b.WriteString([]string{" ", " ", " ", " ", ", ", ".\n"}[rng.IntN(6)])
		case "base64":
			var raw [57]byte
			for i := range raw {
				raw[i] = byte(rng.Uint32())
			}
			b.WriteString(base64.StdEncoding.EncodeToString(raw[:]) + "\n")
		case "cjk":
			for range 30 {
				b.WriteRune(rune(0x4e00 + rng.IntN(0x5000)))
			}
			b.WriteString("。")
		case "json":
			row, _ := json.Marshal(map[string]any{"id": rng.IntN(1 << 30), "name": words[rng.IntN(len(words))], "path": `C:\data\` + words[rng.IntN(len(words))], "ok": rng.IntN(2) == 0})
			b.Write(append(row, '\n'))
		default:
			panic(fmt.Sprintf("no kind %q", kind))
		}
	}
	s := b.String()[:bytes]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

var words = strings.Fields(`the a of to and in that is was he for it with as his on be at by had not are but from or have an they which one you
were her all she there would their we him been has when who will more no if out so said what up its about into than them can only other new
some could time these two may then do first any my now such like our over man me even most made after also did many before must through back
years where much your way well down should because each just those people mister how too little state good very make world still own see men
work long get here between both life being under never day same another know while last might us great old year off come since against go came`)
