package stdio

import (
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/transport/rpc"
)

// request is a model request over the wire: the whole of it, without its credential.
func request(r model.Request) rpc.ModelRequest {
	out := rpc.ModelRequest{Model: r.Model, Instructions: r.Instructions, Items: make([]rpc.ModelItem, 0, len(r.Items)), NoTools: r.NoTools, MaxOutputTokens: r.MaxOutputTokens}
	for _, i := range r.Items {
		item := rpc.ModelItem{Type: string(i.Kind), Text: i.Text, CallID: i.CallID, Name: i.Name, Arguments: i.Arguments, Output: i.Output, Failed: i.Failed}
		for _, p := range i.Parts {
			part := rpc.ModelPart{Text: p.Text, Name: p.Name, MediaType: p.MediaType, ID: p.ID, Size: p.Size}
			switch {
			case p.MediaType == "":
			case p.IsImage() || p.IsPDF():
				part.Data = p.Data
			default:
				part.Text = string(p.Data)
			}
			item.Parts = append(item.Parts, part)
		}
		out.Items = append(out.Items, item)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, rpc.ModelTool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return out
}
