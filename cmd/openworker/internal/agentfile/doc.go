// Package agentfile reads and writes agents as YAML files: the fields of api.AgentDefinition under their JSON names,
// with tools named instead of declared, and a model as "Provider/name".
//
// [Parse] finds all that is wrong in a file and tells each with its line and column. What it does not know itself
// (bounds, options that this host has not, which fields go together) it asks of package definition, one field at a
// time over a definition that is good, so that each fault is told and stands at the field that it is of.
//
// Imports: api, internal/definition, tool, cmd/openworker/internal/document, goccy/go-yaml.
package agentfile
