module bench.local/protocol

go 1.26
