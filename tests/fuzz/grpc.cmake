# gRPC messages, and the HTTP/2 and gRPC doors over a socket.
weft_fuzz(grpc_read LIBS weft_server weft_static MODIFIED 4000)
weft_fuzz(grpc_door LIBS weft_server weft_static MODIFIED 150)
