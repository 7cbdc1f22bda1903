/* The Open Inference Protocol V2 over HTTP: handlers for the table in route.c. */
#ifndef WEFT_SERVER_V2_HTTP_H
#define WEFT_SERVER_V2_HTTP_H

#include "server/server_internal.h"

/* v2_http.c: POST .../infer */
bool weft_v2_infer_admit(weft_exchange *x, const weft_http_head *head);
void weft_v2_infer_handle(weft_exchange *x, const weft_http_head *head);
void weft_v2_infer_finish(weft_exchange *x);

/* v2_info_http.c */
void weft_v2_server_handle(weft_exchange *x, const weft_http_head *head);
void weft_v2_metadata_handle(weft_exchange *x, const weft_http_head *head);
void weft_v2_model_ready_handle(weft_exchange *x, const weft_http_head *head);
void weft_v2_config_handle(weft_exchange *x, const weft_http_head *head);
void weft_v2_stats_handle(weft_exchange *x, const weft_http_head *head);

/* v2_repository_http.c */
bool weft_v2_admin_admit(weft_exchange *x, const weft_http_head *head);
void weft_v2_index_handle(weft_exchange *x, const weft_http_head *head);
void weft_v2_load_handle(weft_exchange *x, const weft_http_head *head);
void weft_v2_unload_handle(weft_exchange *x, const weft_http_head *head);
void weft_v2_change_finish(weft_exchange *x);

#endif
