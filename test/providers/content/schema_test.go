package content

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// piece is a piece of what a user said, as a protocol has it: text, or a file by its hash. Name is that of the file
// where the protocol has one for the kind.
type piece struct {
	Kind, Text, Name, MediaType, SHA256 string
}

// userPieces decodes a captured body by the schema of its protocol, and returns what each of the user's
// messages holds in its order. A message of results alone is none.
func userPieces(t *testing.T, protocol modeltestserver.Protocol, body []byte) [][]piece {
	t.Helper()
	decode := map[modeltestserver.Protocol]func(*testing.T, []byte) [][]piece{
		modeltestserver.Responses: responsesPieces, modeltestserver.Chat: chatPieces,
		modeltestserver.Messages: messagesPieces, modeltestserver.Gemini: geminiPieces,
	}[protocol]
	return decode(t, body)
}

func unmarshal(t *testing.T, body []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("the protocol's schema does not know the body: %v", err)
	}
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func encodedFile(t *testing.T, kind, name, mediaType, data string) piece {
	t.Helper()
	decoded, err := base64.StdEncoding.Strict().DecodeString(data)
	if err != nil {
		t.Fatalf("%s: %v", mediaType, err)
	}
	return piece{Kind: kind, Name: name, MediaType: mediaType, SHA256: hash(decoded)}
}

func dataURL(t *testing.T, kind, name, url string) piece {
	t.Helper()
	head, data, _ := strings.Cut(url, ",")
	mediaType, ok := strings.CutSuffix(strings.TrimPrefix(head, "data:"), ";base64")
	if !ok {
		t.Fatalf("%.40q is no data URL", url)
	}
	return encodedFile(t, kind, name, mediaType, data)
}

func responsesPieces(t *testing.T, body []byte) (all [][]piece) {
	var sent responses.ResponseNewParams
	unmarshal(t, body, &sent)
	for _, item := range sent.Input.OfInputItemList {
		if item.OfMessage == nil || item.OfMessage.Role != responses.EasyInputMessageRoleUser {
			continue
		}
		content := item.OfMessage.Content
		if content.OfString.Valid() {
			all = append(all, []piece{{Kind: "text", Text: content.OfString.Value}})
			continue
		}
		var pieces []piece
		for _, part := range content.OfInputItemContentList {
			switch {
			case part.OfInputText != nil:
				pieces = append(pieces, piece{Kind: "text", Text: part.OfInputText.Text})
			case part.OfInputImage != nil:
				pieces = append(pieces, dataURL(t, "image", "", part.OfInputImage.ImageURL.Value))
			case part.OfInputFile != nil:
				pieces = append(pieces, dataURL(t, "document", part.OfInputFile.Filename.Value, part.OfInputFile.FileData.Value))
			}
		}
		all = append(all, pieces)
	}
	return all
}

// chatPieces has the fields of OpenAI's reference: the SDK's types of this protocol stand in its root, which takes
// minutes to compile.
func chatPieces(t *testing.T, body []byte) (all [][]piece) {
	var sent struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	unmarshal(t, body, &sent)
	for _, message := range sent.Messages {
		if message.Role != "user" {
			continue
		}
		var text string
		if json.Unmarshal(message.Content, &text) == nil {
			all = append(all, []piece{{Kind: "text", Text: text}})
			continue
		}
		var parts []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			ImageURL struct {
				URL string `json:"url"`
			} `json:"image_url"`
			File struct {
				Filename string `json:"filename"`
				FileData string `json:"file_data"`
			} `json:"file"`
		}
		unmarshal(t, message.Content, &parts)
		var pieces []piece
		for _, part := range parts {
			switch part.Type {
			case "text":
				pieces = append(pieces, piece{Kind: "text", Text: part.Text})
			case "image_url":
				pieces = append(pieces, dataURL(t, "image", "", part.ImageURL.URL))
			case "file":
				pieces = append(pieces, dataURL(t, "document", part.File.Filename, part.File.FileData))
			default:
				t.Errorf("a part of type %q", part.Type)
			}
		}
		all = append(all, pieces)
	}
	return all
}

func messagesPieces(t *testing.T, body []byte) (all [][]piece) {
	var sent anthropic.MessageNewParams
	unmarshal(t, body, &sent)
	for _, message := range sent.Messages {
		if message.OfUser == nil {
			continue
		}
		var pieces []piece
		for _, block := range message.OfUser.Content {
			switch {
			case block.OfText != nil:
				pieces = append(pieces, piece{Kind: "text", Text: block.OfText.Text})
			case block.OfImage != nil:
				source := block.OfImage.Source.OfBase64
				pieces = append(pieces, encodedFile(t, "image", "", string(source.MediaType), source.Data))
			case block.OfDocument != nil:
				source := block.OfDocument.Source.OfBase64
				pieces = append(pieces, encodedFile(t, "document", block.OfDocument.Title.Value, string(source.MediaType), source.Data))
			}
		}
		if pieces != nil {
			all = append(all, pieces)
		}
	}
	return all
}

// geminiPieces leaves thought signatures aside: the word that stands in for one is in the URL-safe alphabet, which the
// API takes and the SDK's type does not.
func geminiPieces(t *testing.T, body []byte) (all [][]piece) {
	var sent struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				InlineData       *genai.Blob
				FunctionResponse *genai.FunctionResponse
			}
		}
	}
	unmarshal(t, body, &sent)
	for _, content := range sent.Contents {
		if content.Role != genai.RoleUser {
			continue
		}
		var pieces []piece
		for _, part := range content.Parts {
			switch {
			case part.InlineData != nil:
				kind := "image"
				if part.InlineData.MIMEType == "application/pdf" {
					kind = "document"
				}
				pieces = append(pieces, piece{Kind: kind, MediaType: part.InlineData.MIMEType, SHA256: hash(part.InlineData.Data)})
			case part.FunctionResponse == nil:
				pieces = append(pieces, piece{Kind: "text", Text: part.Text})
			}
		}
		if pieces != nil {
			all = append(all, pieces)
		}
	}
	return all
}
