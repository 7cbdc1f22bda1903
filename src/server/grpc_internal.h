/* gRPC: inference.GRPCInferenceService (grpc_service.proto of triton-inference-server/common, field numbers in the comments of
 * each reader and writer) and grpc.health.v1.Health/Check. grpc_door.c frames and answers, grpc_infer.c runs inference,
 * grpc_info.c says what the server knows. */
#ifndef WEFT_SERVER_GRPC_INTERNAL_H
#define WEFT_SERVER_GRPC_INTERNAL_H

#include "server/h2_conn.h"
#include "server/pb_read.h"
#include "server/v2_call.h"

/* One line of the method table. The message is in x->body, x->arena is there. Answers now or later. */
typedef void (*weft_grpc_handle)(weft_exchange *x);

/* Sends x->answer and x->more as the one message of the answer, with status OK. */
void weft_grpc_reply(weft_exchange *x);
weft_status weft_grpc_malformed(const char *message, weft_error *err);
/* A string field as a C string in the arena: of BYTES type, UTF-8, no NUL, at most max bytes. `what` names it in errors. */
weft_status weft_grpc_text(weft_arena *arena, const weft_pb_field *f, size_t max, const char *what, const char **out,
                           weft_error *err);
/* What is left of the call's deadline (grpc-timeout) in ms, at least 1; 0 = it has none. */
int64_t weft_grpc_left_ms(const weft_exchange *x);

/* grpc_infer.c */
void weft_grpc_infer(weft_exchange *x);
void weft_grpc_infer_finish(weft_exchange *x);
/* ModelInferRequest -> c (initialised, with its arena), model and version also into c. Raw inputs lie in the message. max_bytes
 * bounds all typed tensors together. Any thread. */
weft_status weft_grpc_infer_read(weft_v2_call *c, const void *message, size_t n_bytes, size_t max_bytes, weft_error *err);
/* Only the names, to find the model first. */
weft_status weft_grpc_infer_model(weft_arena *arena, const void *message, size_t n_bytes, const char **model,
                                  const char **version, weft_error *err);
/* Has the message raw_input_contents? Then reading it is quick. */
bool weft_grpc_infer_is_raw(const void *message, size_t n_bytes);

/* grpc_info.c */
void weft_grpc_server_live(weft_exchange *x);
void weft_grpc_server_ready(weft_exchange *x);
void weft_grpc_model_ready(weft_exchange *x);
void weft_grpc_server_metadata(weft_exchange *x);
void weft_grpc_model_metadata(weft_exchange *x);
void weft_grpc_model_config(weft_exchange *x);
void weft_grpc_model_statistics(weft_exchange *x);
void weft_grpc_health_check(weft_exchange *x);
/* grpc_repository.c */
void weft_grpc_index(weft_exchange *x);
void weft_grpc_load(weft_exchange *x);
void weft_grpc_unload(weft_exchange *x);
void weft_grpc_change_finish(weft_exchange *x);

#endif
