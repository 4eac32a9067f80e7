// Package httpapi answers plain HTTP requests about tables and feeds: what there
// is, with which columns, the rows of a small result, and whether the gateway is
// well.
//
//	GET /v1/tables                       names and state of all tables
//	GET /v1/tables/{table}               one of them
//	GET /v1/tables/{table}/schemas/{id}  columns of a schema version, or "latest"
//	GET /v1/tables/{table}/rows          rows: ?snapshot= &tag= &columns=a,b &where= &limit=
//	GET /v1/feeds                        feeds with position and subscribers
//	GET /v1/feeds/{feed}                 one of them
//	GET /healthz                         200 while the process works
//	GET /readyz                          200 if every feed can be read, else 503 with what cannot
//
// Errors are application/problem+json with the same reasons as on all other
// transports. A body is bounded in rows and bytes; one that was cut says so in
// its member "truncated".
package httpapi
