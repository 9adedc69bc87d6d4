package content

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// replay answers each request with what the strict server answered the first. It reads a body as a network would, a
// piece at a time, and keeps nothing of it.
type replay struct {
	server http.RoundTripper
	header http.Header
	answer []byte
	sent   int64 // bytes of the last body
	piece  []byte
}

func (r *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.answer == nil {
		resp, err := r.server.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		r.header, r.piece = resp.Header, make([]byte, 32<<10)
		r.answer, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(r.answer))
		return resp, err
	}
	r.sent = 0
	for {
		n, err := req.Body.Read(r.piece)
		r.sent += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	req.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.header, Body: io.NopCloser(bytes.NewReader(r.answer)), Request: req,
	}, nil
}

// large are a PDF of the most bytes that a file may have, and two others whose encoding takes its own way.
func large() map[string]model.Part {
	const line = "a line of \"text\" with \\ and \t in it, and it ends.\n"
	fill := func(piece string, size int) []byte { return bytes.Repeat([]byte(piece), size/len(piece)) }
	return map[string]model.Part{
		"a PDF":       {Name: "a.pdf", MediaType: model.TypePDF, Data: fill("%PDF\x00\xff<>", api.MaxFileBytes)},
		"an image":    {Name: "a.png", MediaType: model.TypePNG, Data: fill("\x89PNG\r\n\x1a\n", 1<<20)},
		"a text file": {Name: "a.md", MediaType: "text/markdown", Data: fill(line, 1<<20)},
	}
}

// costs makes the function that sends one request with a file, and the transport that it goes over.
func costs(t testing.TB, s subject, file model.Part) (send func(), over *replay) {
	t.Helper()
	over = &replay{server: modeltestserver.NewInMemory(modeltestserver.Config{}).Transport()}
	provider, err := s.open(&http.Client{Transport: over})
	if err != nil {
		t.Fatal(err)
	}
	req := model.Request{Model: s.model, Items: []model.Item{{Kind: model.UserItem, Text: "Hi"}}}
	send = func() {
		if _, err := provider.Stream(t.Context(), req, func(model.Delta) {}); err != nil {
			t.Fatal(err)
		}
	}
	send()
	req.Items = []model.Item{
		{Kind: model.UserItem, Parts: []model.Part{{Text: "Read"}, file}},
		{Kind: model.AssistantItem, Text: "I have."},
		{Kind: model.UserItem, Text: "And now?"},
	}
	return send, over
}

// A request takes no more memory than its body, which holds a file once: in base64, or as a text whose line breaks
// and quotes are escaped. With the file itself that is less than three times its size.
func TestARequestHoldsAFileOnce(t *testing.T) {
	const slack = 256 << 10
	for _, s := range subjects() {
		for name, file := range large() {
			t.Run(s.name+" "+name, func(t *testing.T) {
				send, over := costs(t, s, file)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				send()
				runtime.ReadMemStats(&after)
				took, size := int64(after.TotalAlloc-before.TotalAlloc), int64(len(file.Data))
				t.Logf("%.2f times the file's size", float64(took)/float64(size))
				if over.sent < size {
					t.Fatalf("%d bytes were sent of a file of %d", over.sent, size)
				}
				if took > over.sent+slack || took > 2*size {
					t.Errorf("a body of %d bytes took %d, the file has %d", over.sent, took, size)
				}
			})
		}
	}
}

func BenchmarkRequestWithALargeFile(b *testing.B) {
	for _, s := range subjects() {
		for name, file := range large() {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				send, _ := costs(b, s, file)
				b.SetBytes(int64(len(file.Data)))
				b.ReportAllocs()
				for b.Loop() {
					send()
				}
			})
		}
	}
}
