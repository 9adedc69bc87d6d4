package wire

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/model"
)

func TestRetryAfterIsReadInAllItsForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, test := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"nothing":                      {nil, 0},
		"seconds":                      {map[string]string{"Retry-After": "20"}, 20 * time.Second},
		"a fraction of seconds":        {map[string]string{"Retry-After": "0.25"}, 250 * time.Millisecond},
		"milliseconds":                 {map[string]string{"Retry-After-Ms": "1500"}, 1500 * time.Millisecond},
		"milliseconds before seconds":  {map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, 1500 * time.Millisecond},
		"milliseconds below zero":      {map[string]string{"Retry-After-Ms": "-1", "Retry-After": "2"}, 2 * time.Second},
		"milliseconds that are none":   {map[string]string{"Retry-After-Ms": "soon", "Retry-After": "2"}, 2 * time.Second},
		"a date":                       {map[string]string{"Retry-After": at(time.Minute)}, time.Minute},
		"a date by the server's clock": {map[string]string{"Retry-After": at(time.Hour), "Date": at(59 * time.Minute)}, time.Minute},
		"a date that is past":          {map[string]string{"Retry-After": at(-time.Minute)}, 0},
		"a negative number":            {map[string]string{"Retry-After": "-5"}, 0},
		"more than a day":              {map[string]string{"Retry-After": "1e300"}, 24 * time.Hour},
		"infinity":                     {map[string]string{"Retry-After": "inf"}, 24 * time.Hour},
		"not a number":                 {map[string]string{"Retry-After": "NaN"}, 0},
		"words":                        {map[string]string{"Retry-After": "later"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			for key, value := range test.header {
				header.Set(key, value)
			}
			if got := RetryAfter(header, now); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestFailuresAreClassified(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status              int
		code, kind, message string
		want                model.ErrorKind
	}{
		"401":                              {401, "", "", "", model.KindAuth},
		"402":                              {402, "", "", "", model.KindQuota},
		"404 without a word about a model": {404, "", "", "not found", model.KindRefused},
		"404 about a model":                {404, "", "", "model 'x' not found, try pulling it first", model.KindNotFound},
		"403 for a model that is not ours": {403, "model_not_found", "", "Project has no access to model", model.KindNotFound},
		"408":                              {408, "", "", "", model.KindOverloaded},
		"409":                              {409, "", "", "", model.KindOverloaded},
		"413 that speaks of tokens":        {413, "", "", "too many bytes", model.KindTooLarge},
		"418":                              {418, "", "", "", model.KindRefused},
		"422":                              {422, "", "", "bad field", model.KindRefused},
		"504":                              {504, "", "", "", model.KindOverloaded},
		"599":                              {599, "", "", "", model.KindOverloaded},
		"a rate limit on context is a rate limit":  {429, "rate_limit_exceeded", "tokens", "reduce the length of the messages", model.KindRateLimited},
		"one request over the limit of a minute":   {429, "rate_limit_exceeded", "tokens", "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 36278. The input or output tokens must be reduced in order to run successfully.", model.KindContext},
		"Groq's words for that":                    {413, "rate_limit_exceeded", "tokens", "Request too large for model `qwen/qwen3-32b` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.", model.KindContext},
		"GitHub Models' words for that":            {413, "tokens_limit_reached", "", "Request body too large for gpt-4o model. Max size: 8000 tokens.", model.KindContext},
		"many requests over the limit of a minute": {429, "rate_limit_exceeded", "tokens", "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.", model.KindRateLimited},
		"a plan that names quota and means rate":   {429, "", "", "You exceeded your current quota, retry in 20 s", model.KindRateLimited},
		"quota by its code":                        {429, "insufficient_quota", "", "", model.KindQuota},
		"quota by its type":                        {429, "", "insufficient_quota", "", model.KindQuota},
		"a balance as 400":                         {400, "", "", "Your credit balance is too low", model.KindQuota},
		"a limit of one's own as 400":              {400, "invalid_request_error", "", "You have reached your specified API usage limits.", model.KindQuota},
		"C45 input and output over the limit":      {400, "invalid_request_error", "", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", model.KindContext},
		"LM Studio's overflow":                     {400, "", "", "Trying to keep the first 9001 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens", model.KindContext},
		"LM Studio's newer overflow":               {400, "", "", "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).", model.KindContext},
		"LM Studio's newest overflow":              {400, "", "", "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", model.KindContext},
		"GitHub Copilot's overflow":                {400, "", "", "prompt token count of 65446 exceeds the limit of 64000", model.KindContext},
		"GitHub Copilot's overflow by its code":    {400, "model_max_prompt_tokens_exceeded", "", "", model.KindContext},
		"vLLM's overflow":                          {400, "", "BadRequestError", "The decoder prompt (length 40000) is longer than the maximum model length of 32768.", model.KindContext},
		"vLLM's newer overflow":                    {400, "", "BadRequestError", "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens", model.KindContext},
		"vLLM's overflow with images":              {400, "", "", "The prompt (total length 25938) is too long to fit into the model (context length 4096).", model.KindContext},
		"TGI's overflow of the input alone":        {422, "", "validation", "`inputs` must have less than 4095 tokens. Given: 7000", model.KindContext},
		"a text over a field's limit":              {400, "string_above_max_length", "", "Invalid 'input[3].content[0].text': string too long. Expected a string with maximum length 10485760", model.KindContext},
		"a tool's description over its limit":      {400, "string_above_max_length", "", "Invalid 'tools[13].function.description': string too long. Expected a string with maximum length 1024", model.KindRefused},
		"a word about context":                     {400, "", "invalid_request_error", "unknown parameter: context", model.KindRefused},
		"TGI's overflow":                           {422, "", "validation", "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9001", model.KindContext},
		"xAI's overflow":                           {400, "", "", "This model's maximum prompt length is 131072 but the request contains 200000 tokens.", model.KindContext},
		"Zhipu's overflow":                         {400, "1261", "", "Prompt exceeds max length", model.KindContext},
		"overflow inside a stream":                 {200, "context_length_exceeded", "", "", model.KindContext},
		"an unknown code inside a stream":          {200, "weird", "", "", model.KindUnclassified},
		"an authentication error inside a stream":  {200, "invalid_api_key", "", "", model.KindAuth},
		"a refusal inside a stream":                {200, "", "invalid_request_error", "", model.KindRefused},
		"a gateway's status inside a 200":          {200, "503", "", "", model.KindOverloaded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault := &Fault{Code: test.code, Type: test.kind, Message: test.message}
			if got := Classify(test.status, fault).Kind; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A request, a file or a number of files over a bound of the server's is too large, an image that cannot be used is
// refused. The messages are those of the servers.
func TestWhatServersSayOfFilesIsClassified(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status              int
		code, kind, message string
		want                model.ErrorKind
	}{
		"Anthropic's request over 32 MB":         {413, "", "request_too_large", "Request exceeds the maximum size", model.KindTooLarge},
		"that inside a stream":                   {200, "", "request_too_large", "Request exceeds the maximum size", model.KindTooLarge},
		"Anthropic's image over 5 MB":            {400, "", "invalid_request_error", "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes", model.KindTooLarge},
		"Anthropic's image of too many pixels":   {400, "", "invalid_request_error", "messages.7.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels", model.KindTooLarge},
		"Anthropic's many images":                {400, "", "invalid_request_error", "messages.19.content.27.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels", model.KindTooLarge},
		"Anthropic's PDF of too many pages":      {400, "", "invalid_request_error", "messages.38.content.0.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.", model.KindTooLarge},
		"Anthropic's number of images":           {400, "", "invalid_request_error", "Too much media: 0 document pages + 107 images > 100", model.KindTooLarge},
		"Anthropic's newer words for that":       {400, "", "invalid_request_error", "too many images and documents: 120 + 0 > 100", model.KindTooLarge},
		"Anthropic's image that is none":         {400, "", "invalid_request_error", "Could not process image", model.KindRefused},
		"Anthropic's image of another type":      {400, "", "invalid_request_error", "messages.0.content.1.image.source.base64.data: The image was specified using the image/png media type, but the image appears to be a image/jpeg image", model.KindRefused},
		"Anthropic's PDF that is none":           {400, "", "invalid_request_error", "messages.0.content.0.pdf.source.base64.data: The PDF specified was not valid.", model.KindRefused},
		"OpenAI's images together":               {400, "", "invalid_request_error", "Total image size is 50.6MB, which exceeds the allowed limit of 50.0MB.", model.KindTooLarge},
		"OpenAI's image in a field":              {400, "string_above_max_length", "invalid_request_error", "Invalid 'input[0].content[1].image_url': string too long. Expected a string with maximum length 20971520, but got a string with length 31000000 instead.", model.KindTooLarge},
		"OpenAI's PDF in a field":                {400, "string_above_max_length", "invalid_request_error", "Invalid 'messages[0].content[1].file.file_data': string too long. Expected a string with maximum length 33554432", model.KindTooLarge},
		"OpenAI's image that is no such format":  {400, "sanitizer_server_error", "invalid_request_error", "You uploaded an unsupported image. Please make sure your image is below 20 MB in size and is of one the following formats: ['png', 'jpeg', 'gif', 'webp'].", model.KindRefused},
		"OpenAI's image that is none":            {400, "invalid_image_format", "image_generation_user_error", "The image data you provided does not represent a valid image. Please check your input and try again.", model.KindRefused},
		"OpenAI's large image inside a stream":   {200, "image_too_large", "", "The image is too large.", model.KindTooLarge},
		"OpenAI's large file inside a stream":    {200, "image_file_too_large", "", "The image file is too large.", model.KindTooLarge},
		"OpenAI's bad image inside a stream":     {200, "image_parse_error", "", "The image could not be parsed.", model.KindRefused},
		"OpenAI's bad base64 inside a stream":    {200, "invalid_base64_image", "", "", model.KindRefused},
		"Google's request over its bound":        {400, "400", "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes.", model.KindTooLarge},
		"Google's files over their bound":        {400, "400", "INVALID_ARGUMENT", "The request's total referenced files bytes are too large to be read", model.KindTooLarge},
		"Google's PDF of too many pages":         {400, "400", "INVALID_ARGUMENT", "The document contains 1500 pages which exceeds the supported page limit of 1000.", model.KindTooLarge},
		"Google's image that is none":            {400, "400", "INVALID_ARGUMENT", "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting", model.KindRefused},
		"Google's PDF that is none":              {400, "400", "INVALID_ARGUMENT", "The document has no pages.", model.KindRefused},
		"GitHub Copilot's number of images":      {400, "", "", "Too many images in request: 11 images provided, but the model supports a maximum of 10 images.", model.KindTooLarge},
		"vLLM's number of images":                {400, "400", "BadRequestError", "At most 5 image(s) may be provided in one request.", model.KindTooLarge},
		"a proxy's":                              {413, "", "", "", model.KindTooLarge},
		"a proxy's in the body of a 400":         {400, "", "", "Request Entity Too Large", model.KindTooLarge},
		"a rate limit that speaks of images":     {429, "rate_limit_exceeded", "", "too many images per minute", model.KindRateLimited},
		"a failing server that speaks of images": {503, "", "", "too many images are being processed", model.KindOverloaded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Classify(test.status, &Fault{Code: test.code, Type: test.kind, Message: test.message})
			if got.Kind != test.want || got.Message != test.message {
				t.Errorf("got %s %q, want %s with the server's message", got.Kind, got.Message, test.want)
			}
		})
	}
}

// LI5: most servers tell the window with an overflow.
func TestAnOverflowNamesTheWindow(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]int{
		"This model's maximum context length is 8000 tokens. However, you requested 9000 tokens (7500 in the messages, 1500 in the completion).": 8000,
		"prompt is too long: 210000 tokens > 200000 maximum":                                               200_000,
		"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease":            200_000,
		"The input token count (1048590) exceeds the maximum number of tokens allowed (1048576).":          1_048_576,
		"request (9001 tokens) exceeds the available context size (4096 tokens), try increasing it":        4096,
		"Requested tokens (9001) exceed context window of 2048":                                            2048,
		"when context the overflows. However, the model is loaded with context length of only 4096 tokens": 4096,
		"greater than the context length (n_keep: 13055>= n_ctx: 4096).":                                   4096,
		"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)":                                       7424,
		"prompt token count of 65446 exceeds the limit of 64000":                                           64_000,
		"The decoder prompt (length 40000) is longer than the maximum model length of 32768.":              32_768,
		"The prompt (total length 25938) is too long to fit into the model (context length 4096).":         4096,
		"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9001":                                  4096,
		"`inputs` must have less than 4095 tokens. Given: 7000":                                            4095,
		"This model's maximum prompt length is 131072 but the request contains 200000 tokens.":             131_072,
		"Your input exceeds the context window of this model. Please adjust your input and try again.":     0,
		"This model's maximum context length is 99999999999999999999 tokens.":                              0,
	} {
		if got := Classify(400, &Fault{Message: said}); got.Kind != model.KindContext || got.Window != want {
			t.Errorf("%q: %s with a window of %d, want %d", said, got.Kind, got.Window, want)
		}
	}
	if got := Classify(400, &Fault{Message: "the limit of 64000 requests"}).Window; got != 0 {
		t.Errorf("an error of another kind names a window of %d", got)
	}
}

func TestMessagesAreCleanAndShortAndHoldNoCredential(t *testing.T) {
	t.Parallel()
	err := &model.Error{Message: clean("key sk-1234\x00\x1b[31m\r\n\tis \xff wrong " + strings.Repeat("ž", 5000))}
	finish(err, "sk-1234", nil)
	if want := "key [credential] [31m is wrong "; !strings.HasPrefix(err.Message, want) {
		t.Errorf("got %q, want it to begin with %q", err.Message, want)
	}
	if len(err.Message) > maxMessage+len("…") {
		t.Errorf("got %d bytes", len(err.Message))
	}
}

// ST4: whatever a server repeats, no secret that it was sent comes out.
func TestNoSecretComesOutOfAMessage(t *testing.T) {
	t.Parallel()
	const key, header, bearer = "sk-very+secret/0123456789", "gateway-secret-987654321", "token-secret-123123123"
	for name, message := range map[string]string{
		"the credential":                      "bad key " + key + " given",
		"the header with it":                  "Authorization: Bearer " + key,
		"the credential in base64":            "bad key " + base64.StdEncoding.EncodeToString([]byte(key)),
		"the credential in an address":        "bad request to /v1?key=" + url.QueryEscape(key),
		"a gateway's header":                  "no such key: " + header,
		"what stands behind its scheme":       "no such token: " + bearer,
		"a part of it, where it is cut":       strings.Repeat(" ", 4*maxMessage-10) + key,
		"a part of it behind a longer word":   strings.Repeat("x ", 2*maxMessage-5) + key,
		"a part of it, where it is shortened": strings.Repeat("x ", maxMessage/2-5) + key,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Classify(400, &Fault{Message: message})
			finish(err, key, map[string]string{"X-Key": header, "X-Token": "Bearer " + bearer, "X-Short": "a"})
			if strings.Contains(err.Message, key[:10]) || strings.Contains(err.Message, "secret%2F") || strings.Contains(err.Message, "c2stdmVye") || strings.Contains(err.Message, header[:10]) || strings.Contains(err.Message, bearer[:10]) {
				t.Errorf("it says %q", err.Message)
			}
		})
	}
	long := Classify(400, &Fault{Message: strings.Repeat("x", 8*maxMessage)})
	if finish(long, key, nil); len(long.Message) < maxMessage {
		t.Errorf("a long word leaves %d bytes", len(long.Message))
	}
}
