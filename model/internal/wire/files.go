package wire

// isTooLarge knows what servers say of a file, an image or a request that is over one of their bounds: most say it with
// a 400. It makes the error one of size, not of the window: no summary of the conversation makes an image smaller.
func isTooLarge(kind, said string) bool {
	return containsAny(kind, "request_too_large", "image_too_large", "image_file_too_large", "payload_too_large") ||
		containsAny(kind, "string_above_max_length") && containsAny(said, "image_url", "file_data") ||
		containsAny(said,
			"image exceeds",             // Anthropic: "image exceeds 5 MB maximum: 6206848 bytes > 5242880 bytes"
			"exceed max allowed size",   // Anthropic: "At least one of the image dimensions exceed max allowed size: 8000 pixels"
			"pdf pages may be provided", // Anthropic: "A maximum of 100 PDF pages may be provided."
			"too much media:",           // Anthropic: "Too much media: 0 document pages + 107 images > 100"
			"too many images",           // Anthropic, GitHub Copilot
			"image(s) may be provided",  // vLLM: "At most 5 image(s) may be provided in one request."
			"total image size is",       // OpenAI: "Total image size is 50.6MB, which exceeds the allowed limit of 50.0MB."
			"payload size exceeds",      // Google: "Request payload size exceeds the limit: 20971520 bytes."
			"files bytes are too large", // Google: "The request's total referenced files bytes are too large to be read"
			"supported page limit",      // Google, of a PDF
			"request entity too large",  // proxies
		)
}

// badFile are the codes with which OpenAI refuses an image that it cannot use.
var badFile = []string{
	"invalid_image", "invalid_base64_image", "image_too_small", "image_parse_error", "image_content_policy_violation",
	"unsupported_image_media_type", "empty_image_file",
}
