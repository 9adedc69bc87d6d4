package content

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/strictjson"
)

// fields are those that each type of item may have beside its type.
var fields = map[string][]string{
	api.ImportUser:       {"text"},
	api.ImportAssistant:  {"text"},
	api.ImportToolCall:   {"callId", "name", "arguments"},
	api.ImportToolResult: {"callId", "output"},
}

// Import checks a conversation that is to be imported and groups it (IM2, IM3). A group is one user's item, or an answer:
// assistant's texts and calls that follow each other, and behind them the results of its calls, in the order of the calls and
// whatever the order of the results was. A result or a user's item ends an answer; a result that came later moves up to its
// answer. guarded bounds each text, argument and output at [api.MaxGuardedBytes] (IM4). Arguments come compact.
//
// Nothing runs with the arguments of an imported call, but each later request says them: what some provider cannot read of them
// is refused, such as a key that stands twice or a number that no float64 has.
//
// Errors are invalid_history, with the details item (from 0), rule, and value and limit where one was measured. Nothing imported
// is nothing: no items give no groups.
func Import(items []api.HistoryImport, guarded bool) ([][]api.HistoryImport, error) {
	c := conversation{guarded: guarded, given: items, calls: map[string]int{}, results: map[string]api.HistoryImport{}, size: len("[]")}
	for i, it := range items {
		if err := c.take(i, &it); err != nil {
			return nil, inItem(i, it, err)
		}
		c.items = append(c.items, it)
	}
	for i, it := range c.items {
		if _, finished := c.results[it.CallID]; it.Type == api.ImportToolCall && !finished {
			return nil, inItem(i, it, broken("unfinished_call", nil, "call %s has no result; give it one, or leave it out", quoted(it.CallID)))
		}
	}
	return c.groups(), nil
}

// conversation is what was read of an import.
type conversation struct {
	guarded bool
	given   []api.HistoryImport
	items   []api.HistoryImport
	calls   map[string]int // places by call ID
	results map[string]api.HistoryImport
	size    int // as compact JSON
}

// take checks the next item in itself and against those before, and brings it into its form.
func (c *conversation) take(i int, it *api.HistoryImport) error {
	if i >= api.MaxImportItems {
		return tooMany(len(c.given), "there are %d", len(c.given))
	}
	rule, flaw := it.Flaw()
	if rule == "json" { // else its type is not known
		return broken(rule, nil, "%s", flaw)
	}
	if err := checkFields(*it); err != nil {
		return err
	}
	if flaw != "" {
		return broken(rule, nil, "%s", flaw)
	}
	if i == 0 && it.Type != api.ImportUser {
		return broken("first_item", nil, "the first item must be the user's; put what the user said before it, or begin with the first item that is")
	}
	for _, text := range []string{it.Text, it.Output, it.CallID} {
		if flaw := flawOf(text); flaw != "" {
			return broken("text", nil, "a text %s", flaw)
		}
	}
	var err error
	switch it.Type {
	case api.ImportUser, api.ImportAssistant:
		if err = c.bound("text", len(it.Text)); err == nil && strings.TrimSpace(it.Text) == "" {
			err = broken("blank", nil, "its text is blank; leave the item out")
		}
	case api.ImportToolCall:
		err = c.call(i, it)
	case api.ImportToolResult:
		err = c.result(*it)
	}
	if err != nil {
		return err
	}
	if c.size += sizeAt(i, *it); c.size > api.MaxImportBytes {
		for n, rest := range c.given[i+1:] {
			c.size += sizeAt(i+1+n, rest)
		}
		return oversized("import_bytes", c.size, api.MaxImportBytes, "the conversation has %d bytes as compact JSON, and an imported one at most %d; %s", c.size, api.MaxImportBytes, shorten)
	}
	return nil
}

// sizeAt is what an item adds to a conversation as compact JSON.
func sizeAt(i int, it api.HistoryImport) int {
	comma := min(i, 1)
	return comma + len(compact(it))
}

// shorten ends the message of a conversation that is too large.
const shorten = "import a summary as the text of one item, or only the newest items, from one of the user on"

func tooMany(value int, format string, args ...any) error {
	return oversized("items", value, api.MaxImportItems, "an imported conversation has at most %d items, and %s; %s", api.MaxImportItems, fmt.Sprintf(format, args...), shorten)
}

// checkFields refuses a type that is not known, and fields of another type: those that the JSON had, in exactly their spelling,
// and those that are set. An item that was read from JSON must have all that are its type's.
func checkFields(it api.HistoryImport) error {
	given := it.Given()
	read := given != nil
	for name, set := range map[string]bool{
		"text": it.Text != "", "callId": it.CallID != "", "name": it.Name != "", "arguments": len(it.Arguments) > 0, "output": it.Output != "",
	} {
		if set && !slices.Contains(given, name) {
			given = append(given, name)
		}
	}
	slices.Sort(given)
	known := fields[it.Type]
	switch {
	case it.Type == "" && len(given) == 0:
		return broken("type", nil, "it has nothing in it; give a type (user, assistant, tool_call or tool_result) and the fields of that")
	case it.Type == "":
		return broken("type", nil, "it has no type, only %s; the field type says user, assistant, tool_call or tool_result", list(given))
	case known == nil:
		return broken("type", nil, "there is no item of type %s; there are user, assistant, tool_call and tool_result. System texts, approvals, notices, images and reasoning are not imported", quoted(it.Type))
	}
	for _, name := range given {
		if name != "type" && !slices.Contains(known, name) {
			return broken("field", nil, "it has the field %s; a %s has type, %s and nothing else", quoted(name), it.Type, strings.Join(known, ", "))
		}
	}
	for _, name := range known {
		if read && !slices.Contains(given, name) {
			return broken("missing_field", nil, "it has no field %s; a %s has type, %s", quoted(name), it.Type, strings.Join(known, ", "))
		}
	}
	return nil
}

// list names fields, the first of them if there are many.
func list(fields []string) string {
	const most = 8
	var names []string
	for _, name := range fields[:min(len(fields), most)] {
		names = append(names, quoted(name))
	}
	if len(fields) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

func (c *conversation) call(i int, it *api.HistoryImport) error {
	if it.CallID == "" {
		return broken("call_id", nil, "the call has no callId; give it one that is its alone")
	}
	if first, taken := c.calls[it.CallID]; taken {
		return broken("duplicate_call", nil, "callId %s is that of item %d already; give each call one of its own, and its result the same", quoted(it.CallID), first)
	}
	if !validName(it.Name) {
		hint := ""
		if mapped := strings.ReplaceAll(it.Name, ".", "__"); validName(mapped) {
			hint = "; models see this tool as " + mapped
		}
		return broken("name", nil, "the name %s is not 1 to %d of A-Z a-z 0-9 _ -%s", quoted(it.Name), api.MaxModelToolName, hint)
	}
	if err := c.arguments(it); err != nil {
		return err
	}
	c.calls[it.CallID] = i
	return nil
}

func (c *conversation) result(it api.HistoryImport) error {
	if _, called := c.calls[it.CallID]; !called {
		return broken("result_without_call", nil, "no call before it has the callId %s; put the call before its result, or leave the result out", quoted(it.CallID))
	}
	if _, finished := c.results[it.CallID]; finished {
		return broken("duplicate_result", nil, "call %s has a result already; leave one of the two out", quoted(it.CallID))
	}
	c.results[it.CallID] = it
	return c.bound("output", len(it.Output))
}

// arguments checks a call's arguments and makes them compact. How deep they are is found before they are read.
func (c *conversation) arguments(it *api.HistoryImport) error {
	if depth := depthOf(it.Arguments); depth > api.MaxImportDepth {
		return oversized("arguments_depth", depth, api.MaxImportDepth, "the arguments have %d levels, themselves being the first; at most %d are taken", depth, api.MaxImportDepth)
	}
	var short bytes.Buffer
	err := json.Compact(&short, it.Arguments)
	switch text := ""; {
	case err == nil && bytes.HasPrefix(short.Bytes(), []byte("{")):
	case json.Unmarshal(it.Arguments, &text) == nil && strings.HasPrefix(strings.TrimSpace(text), "{"):
		return broken("arguments", nil, "the arguments are a text with JSON in it, and not a JSON object; give the object itself, without quotes around it")
	default:
		return broken("arguments", nil, "the arguments are not a JSON object; one without any is {}")
	}
	if flaw := flawOf(short.String()); flaw != "" {
		return broken("text", nil, "the arguments: a text %s", flaw)
	}
	if flaw := flawOfEscapes(short.Bytes()); flaw != "" {
		return broken("text", nil, "the arguments: a text %s", flaw)
	}
	if _, err := strictjson.Object(short.Bytes(), api.MaxImportDepth); err != nil {
		return broken("arguments", nil, "the arguments: %v; some models could not read them", err)
	}
	it.Arguments = short.Bytes()
	return c.bound("arguments", short.Len())
}

// bound checks the size of a text, arguments or an output.
func (c *conversation) bound(field string, n int) error {
	switch {
	case n > api.MaxImportTextBytes:
		return oversized(field+"_bytes", n, api.MaxImportTextBytes, "its %s has %d bytes; at most %d are taken", field, n, api.MaxImportTextBytes)
	case c.guarded && n > api.MaxGuardedBytes:
		return oversized("guarded_bytes", n, api.MaxGuardedBytes, "its %s has %d bytes; at most %d are taken where the agent has a guardrail at model_input", field, n, api.MaxGuardedBytes)
	}
	return nil
}

func (c *conversation) groups() [][]api.HistoryImport {
	var (
		out     [][]api.HistoryImport
		answer  []api.HistoryImport
		results []api.HistoryImport
	)
	end := func() {
		if len(answer) > 0 {
			out = append(out, append(answer, results...))
		}
		answer, results = nil, nil
	}
	for _, it := range c.items {
		switch it.Type {
		case api.ImportAssistant:
			answer = append(answer, it)
		case api.ImportToolCall:
			answer, results = append(answer, it), append(results, c.results[it.CallID])
		case api.ImportToolResult:
			end()
		default:
			end()
			out = append(out, []api.HistoryImport{it})
		}
	}
	end()
	return out
}

// DecodeImport reads a conversation from JSON: an array of items, and nothing behind it. It reads no further than the first item
// above the bound. Errors as in [Import].
func DecodeImport(data []byte) ([]api.HistoryImport, error) {
	if !utf8.Valid(data) {
		return nil, broken("json", nil, "the conversation is not UTF-8; convert it")
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, broken("json", nil, "the conversation begins with a byte order mark (BOM); save it as UTF-8 without one")
	}
	in := json.NewDecoder(bytes.NewReader(data))
	if begin, err := in.Token(); err != nil || begin != json.Delim('[') {
		return nil, broken("json", nil, "an imported conversation is a JSON array of items: [{\"type\":\"user\",\"text\":\"…\"}, …]")
	}
	items := []api.HistoryImport{}
	for in.More() {
		var it api.HistoryImport
		if len(items) == api.MaxImportItems {
			return nil, inItem(len(items), it, tooMany(len(items)+1, "there are more"))
		}
		if err := in.Decode(&it); err != nil {
			return nil, inItem(len(items), it, broken("json", nil, "it is not an item in JSON: %v", err))
		}
		items = append(items, it)
	}
	_, err := in.Token()
	if rest := bytes.Trim(data[min(in.InputOffset(), int64(len(data))):], " \t\r\n"); err != nil || len(rest) > 0 {
		return nil, broken("json", nil, "the array of items does not end, or something follows it")
	}
	return items, nil
}

// EncodeImport is a conversation in JSON, an item a line. Arguments that are not JSON become a text, which no import takes.
func EncodeImport(items []api.HistoryImport) []byte {
	if len(items) == 0 {
		return []byte("[]\n")
	}
	lines := make([][]byte, len(items))
	for i, it := range items {
		lines[i] = compact(it)
	}
	return slices.Concat([]byte("[\n"), bytes.Join(lines, []byte(",\n")), []byte("\n]\n"))
}

// compact is an item as compact JSON.
func compact(it api.HistoryImport) []byte {
	if len(it.Arguments) > 0 && !json.Valid(it.Arguments) {
		it.Arguments, _ = json.Marshal(string(it.Arguments)) // a string always encodes
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(it) // strings and valid JSON always encode
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// depthOf is how deep a JSON text goes; of what is no JSON, some number.
func depthOf(text []byte) (most int) {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// flawOfEscapes says what keeps a valid JSON text from being taken that only its escapes hide: a NUL, or half a surrogate pair, which
// some providers refuse together with the whole conversation.
func flawOfEscapes(text []byte) string {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++ // what follows a backslash begins no other escape
		if text[i] != 'u' {
			continue
		}
		switch unit := codeUnit(text, i+1); {
		case unit == 0:
			return `has a NUL, written \u0000; take it out`
		case !utf16.IsSurrogate(unit):
		case i+6 < len(text) && text[i+5] == '\\' && text[i+6] == 'u' && utf16.DecodeRune(unit, codeUnit(text, i+7)) != '\ufffd':
			i += 10
		default:
			return fmt.Sprintf(`has half a character (\u%04x without its other half)`, unit)
		}
	}
	return ""
}

// codeUnit reads the four hex digits of an escape.
func codeUnit(text []byte, at int) rune {
	unit, _ := strconv.ParseUint(string(text[at:min(at+4, len(text))]), 16, 16)
	return rune(unit)
}

// validName reports whether a name is one in the form in which models see it (AG5).
func validName(name string) bool {
	return name != "" && len(name) <= api.MaxModelToolName && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0
}

func oversized(rule string, value, limit int, format string, args ...any) *api.Error {
	return over(api.CodeInvalidHistory, rule, value, limit, format, args...)
}

func broken(rule string, value any, format string, args ...any) *api.Error {
	return refused(api.CodeInvalidHistory, rule, value, format, args...)
}

// inItem says in which item the error is.
func inItem(i int, it api.HistoryImport, err error) error {
	e := api.AsError(err)
	e.Message = fmt.Sprintf("item %d (%s): %s", i, cmp.Or(strings.Trim(quoted(it.Type), `"`), "no type"), e.Message)
	return e.With("item", strconv.Itoa(i))
}
