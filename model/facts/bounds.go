package facts

import "github.com/openworkerai/openworker/model"

// textBytes is what is left of a request's bytes for all that is no file: a conversation that fills a window of a
// million tokens.
const textBytes = 4_000_000

// bounds are a maker's own for files, as it documents them, whatever the model (AT4, AT8). A bound on a request or on an
// image that counts base64 is given here in bytes of the file, of which three become four. Bounds that a gateway
// or a cloud has in front of a maker's models are not known.
func bounds(provider string) model.Facts {
	switch provider {
	case "anthropic":
		// 32 MB a request; an image has 5 MB and 8,000 pixels a side, and each of more than 20 in a request 2,000. A PDF is
		// bounded by the request. The maker's own API may take more of an image than the clouds that serve its models;
		// Config.Facts of the provider raises it.
		return model.Facts{
			MaxImageBytes: 5 << 20, MaxImageSide: 8000, ManyImages: 20, MaxImageSideMany: 2000, MaxFilesBytes: (32_000_000 - textBytes) / 4 * 3,
		}
	case "openai":
		// 50 MB a file and 50 MB of files a request. Larger images are made smaller by it.
		return model.Facts{MaxPDFBytes: 50_000_000, MaxFilesBytes: 50_000_000}
	case "gemini":
		// 100 MB a request with its inline data, 50 MB a PDF. Larger images are made smaller by it. It takes no GIF.
		return model.Facts{MaxPDFBytes: 50_000_000, MaxFilesBytes: (100_000_000 - textBytes) / 4 * 3, Refused: []string{model.TypeGIF}}
	}
	return model.Facts{}
}
