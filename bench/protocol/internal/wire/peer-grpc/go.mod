module bellows/bench/protocol/internal/wire/peer-grpc

go 1.26.0

require (
	bellows/bench v0.0.0-00010101000000-000000000000
	google.golang.org/grpc v1.85.0
)

require (
	bellows v0.0.0-00010101000000-000000000000 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	bellows => ../../../../..
	bellows/bench => ../../../..
)
