// Package main is an HTTP server that embeds OpenWorker: sessions of several users, event streams that a
// client resumes by number, answers to approvals, errors as HTTP statuses, and a clean end. docs/guides/server.md
// explains it.
//
//	go run ./examples/server -dir ./served
//	curl -u ann: -X POST http://127.0.0.1:8080/sessions
//	curl -u ann: -N http://127.0.0.1:8080/sessions/ID/events
//	curl -u ann: -d '{"text": "use parcels.find with {\"number\": 42}"}' http://127.0.0.1:8080/sessions/ID/messages
//
// Imports: the root package, api for the table of codes, model/scripted.
package main
