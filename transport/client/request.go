package client

import (
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/transport/rpc"
)

// modelRequest is a model request as hooks of the program's see it in one process. It lacks what belongs to the provider alone.
func modelRequest(r rpc.ModelRequest) model.Request {
	out := model.Request{Model: r.Model, Instructions: r.Instructions, NoTools: r.NoTools, MaxOutputTokens: r.MaxOutputTokens}
	for _, i := range r.Items {
		item := model.Item{Kind: model.ItemKind(i.Type), Text: i.Text, CallID: i.CallID, Name: i.Name, Arguments: i.Arguments, Output: i.Output, Failed: i.Failed}
		for _, p := range i.Parts {
			part := model.Part{Text: p.Text, Name: p.Name, MediaType: p.MediaType, ID: p.ID, Size: p.Size, Data: p.Data}
			if p.MediaType != "" && !part.IsImage() && !part.IsPDF() {
				part.Text, part.Data = "", []byte(p.Text)
			}
			item.Parts = append(item.Parts, part)
		}
		out.Items = append(out.Items, item)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, model.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return out
}
