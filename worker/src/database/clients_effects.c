/*
 * Effects of functions on their clients: which ones make a client stay with its task, and which ones query the result
 * of an earlier call.
 */
#include "clients_wrap.h"

#include <string.h>
#include <strings.h>

/*
 * Names are in lower case. An owner matches all classes or modules whose names begin with it, and the first matching
 * line counts. A function that ends in * matches all that begin with it.
 */
static const struct {
	const char *owner, *function;
	unsigned effect;
} effects[] = {
	{"redisarray", "multi", HOWDAH_CLIENT_HOLD | HOWDAH_CLIENT_PIN},
	{"redis", "multi", HOWDAH_CLIENT_ASK},
	{"redis", "pipeline", HOWDAH_CLIENT_ASK},
	{"redis", "watch", HOWDAH_CLIENT_HOLD},
	{"redis", "exec", HOWDAH_CLIENT_ASK},
	{"redis", "discard", HOWDAH_CLIENT_ASK},
	{"redis", "unwatch", HOWDAH_CLIENT_ASK},
	{"redis", "close", HOWDAH_CLIENT_ASK},
	{"redis", "reset", HOWDAH_CLIENT_ASK},
	{"redis", "select", HOWDAH_CLIENT_PIN},
	{"redis", "swapdb", HOWDAH_CLIENT_PIN},
	{"redis", "auth", HOWDAH_CLIENT_PIN},
	{"redis", "setoption", HOWDAH_CLIENT_PIN},
	{"redis", "client", HOWDAH_CLIENT_PIN},
	{"redis", "rawcommand", HOWDAH_CLIENT_PIN}, /* may be any of these */
	{"redis", "getlasterror", HOWDAH_CLIENT_READER},
	{"redis", "clearlasterror", HOWDAH_CLIENT_READER},
	{"memcached", "getresult*", HOWDAH_CLIENT_READER},
	{"memcached", "getlast*", HOWDAH_CLIENT_READER},
	{"memcached", "getdelayed", HOWDAH_CLIENT_PIN},
	{"memcached", "getdelayedbykey", HOWDAH_CLIENT_PIN},
	{"memcached", "setoption*", HOWDAH_CLIENT_PIN},
	{"memcached", "setsaslauthdata", HOWDAH_CLIENT_PIN},
	{"soapclient", "__getlast*", HOWDAH_CLIENT_READER},
	{"soapclient", "__set*", HOWDAH_CLIENT_PIN},
	{"xsltprocessor", "setparameter", HOWDAH_CLIENT_PIN},
	{"xsltprocessor", "removeparameter", HOWDAH_CLIENT_PIN},
	{"curl", "curl_setopt*", HOWDAH_CLIENT_PIN},
	{"curl", "curl_multi_setopt", HOWDAH_CLIENT_PIN},
	{"curl", "curl_reset", HOWDAH_CLIENT_UNPIN},
	{"curl", "curl_close", HOWDAH_CLIENT_UNPIN},
	{"curl", "curl_getinfo", HOWDAH_CLIENT_READER},
	{"curl", "curl_errno", HOWDAH_CLIENT_READER},
	{"curl", "curl_error", HOWDAH_CLIENT_READER},
	{"curl", "curl_multi_getcontent", HOWDAH_CLIENT_READER},
	{"mysqli", "mysqli_insert_id", HOWDAH_CLIENT_READER},
	{"mysqli", "mysqli_affected_rows", HOWDAH_CLIENT_READER},
	{"mysqli", "mysqli_err*", HOWDAH_CLIENT_READER},
	{"mysqli", "mysqli_sqlstate", HOWDAH_CLIENT_READER},
	{"mysqli", "mysqli_info", HOWDAH_CLIENT_READER},
	{"mysqli", "mysqli_warning_count", HOWDAH_CLIENT_READER},
	{"mysqli", "mysqli_field_count", HOWDAH_CLIENT_READER},
	{"mysqli_stmt", "bind_*", HOWDAH_CLIENT_BIND},
	{"mysqli_stmt", "attr_set", HOWDAH_CLIENT_BIND},
	{"mysqli_stmt", "send_long_data", HOWDAH_CLIENT_BIND},
	{"mysqli_stmt", "store_result", HOWDAH_CLIENT_BIND},
	{"mysqli_stmt", "__construct", HOWDAH_CLIENT_MAKE},
	{"mysqli", "prepare", HOWDAH_CLIENT_MAKE},
	{"mysqli", "stmt_init", HOWDAH_CLIENT_MAKE},
	{"mysqli", "mysqli_prepare", HOWDAH_CLIENT_MAKE},
	{"mysqli", "mysqli_stmt_init", HOWDAH_CLIENT_MAKE},
	{"mysqli", "mysqli_stmt_bind_*", HOWDAH_CLIENT_BIND},
	{"mysqli", "mysqli_stmt_attr_set", HOWDAH_CLIENT_BIND},
	{"mysqli", "mysqli_stmt_send_long_data", HOWDAH_CLIENT_BIND},
	{"mysqli", "mysqli_stmt_store_result", HOWDAH_CLIENT_BIND},
	{"mysqli", "mysqli_autocommit", HOWDAH_CLIENT_PIN},
	{"mysqli", "mysqli_select_db", HOWDAH_CLIENT_PIN},
	{"mysqli", "mysqli_change_user", HOWDAH_CLIENT_PIN},
	{"mysqli", "autocommit", HOWDAH_CLIENT_PIN},
	{"mysqli", "select_db", HOWDAH_CLIENT_PIN},
	{"mysqli", "change_user", HOWDAH_CLIENT_PIN},
	{"pgsql", "pg_connect", HOWDAH_CLIENT_FREE},
	{"pgsql", "pg_pconnect", HOWDAH_CLIENT_FREE},
	{"pgsql", "pg_unescape_bytea", HOWDAH_CLIENT_FREE},
	{"pgsql", "pg_last_error", HOWDAH_CLIENT_READER},
	{"pgsql", "pg_last_notice", HOWDAH_CLIENT_READER},
	{"pgsql", "pg_set_client_encoding", HOWDAH_CLIENT_PIN},
	{"pgsql", "pg_prepare", HOWDAH_CLIENT_PIN}, /* names of statements are the connection's */
	{"pgsql", "pg_send_prepare", HOWDAH_CLIENT_PIN},
	{"sqlite3stmt", "bind*", HOWDAH_CLIENT_BIND},
	{"sqlite3stmt", "execute", HOWDAH_CLIENT_BIND}, /* the rows are read from the statement */
	{"sqlite3stmt", "__construct", HOWDAH_CLIENT_MAKE},
	{"sqlite3", "prepare", HOWDAH_CLIENT_MAKE},
	{"sqlite3", "changes", HOWDAH_CLIENT_READER},
	{"sqlite3", "lasterror*", HOWDAH_CLIENT_READER},
	{"sqlite3", "lastextendederror*", HOWDAH_CLIENT_READER},
	{"sqlite3", "lastinsertrowid", HOWDAH_CLIENT_READER},
	{"ftp", "ftp_chdir", HOWDAH_CLIENT_PIN},
	{"ftp", "ftp_cdup", HOWDAH_CLIENT_PIN},
	{"ftp", "ftp_login", HOWDAH_CLIENT_PIN},
	{"ftp", "ftp_nb_*", HOWDAH_CLIENT_PIN},
	{"standard", "fread", HOWDAH_CLIENT_READ},
	{"standard", "fgets", HOWDAH_CLIENT_READ},
	{"standard", "fgetc", HOWDAH_CLIENT_READ},
	{"standard", "fgetcsv", HOWDAH_CLIENT_READ},
	{"standard", "fscanf", HOWDAH_CLIENT_READ},
	{"standard", "fpassthru", HOWDAH_CLIENT_READ},
	{"standard", "stream_get_contents", HOWDAH_CLIENT_READ},
	{"standard", "stream_get_line", HOWDAH_CLIENT_READ},
	{"standard", "stream_socket_recvfrom", HOWDAH_CLIENT_READ},
	{"standard", "stream_copy_to_stream", HOWDAH_CLIENT_READ | HOWDAH_CLIENT_WRITE},
	{"standard", "stream_socket_enable_crypto", HOWDAH_CLIENT_READ | HOWDAH_CLIENT_WRITE},
	{"standard", "fwrite", HOWDAH_CLIENT_WRITE},
	{"standard", "fputs", HOWDAH_CLIENT_WRITE},
	{"standard", "fputcsv", HOWDAH_CLIENT_WRITE},
	{"standard", "stream_socket_sendto", HOWDAH_CLIENT_WRITE},
	{"sockets", "socket_read", HOWDAH_CLIENT_READ},
	{"sockets", "socket_recv*", HOWDAH_CLIENT_READ},
	{"sockets", "socket_write", HOWDAH_CLIENT_WRITE},
	{"sockets", "socket_send*", HOWDAH_CLIENT_WRITE},
};

static const char *const queries[] = {
	/* PDO, mysqli and SQLite3 */
	"exec", "execute", "execute_query", "multi_query", "query", "querysingle", "real_query",
	/* mysqli and pgsql */
	"mysqli_execute", "mysqli_execute_query", "mysqli_multi_query", "mysqli_query", "mysqli_real_query",
	"mysqli_stmt_execute", "pg_copy_from", "pg_copy_to", "pg_delete", "pg_exec", "pg_execute", "pg_insert", "pg_query",
	"pg_query_params", "pg_select", "pg_send_execute", "pg_send_query", "pg_send_query_params", "pg_update"};

bool howdah_client_queries(const char *class, const char *function)
{
	/* EXEC of Redis runs commands, and those are no SQL. */
	if (class && strncasecmp(class, "redis", strlen("redis")) == 0) {
		return false;
	}
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		if (strcasecmp(queries[i], function) == 0) {
			return true;
		}
	}
	return false;
}

static bool matches(const char *pattern, const char *name)
{
	size_t size = strlen(pattern);
	return pattern[size - 1] == '*' ? strncasecmp(pattern, name, size - 1) == 0 : strcasecmp(pattern, name) == 0;
}

unsigned howdah_client_effect(const char *owner, const char *function)
{
	for (size_t i = 0; i < sizeof(effects) / sizeof(*effects); i++) {
		if (strncmp(effects[i].owner, owner, strlen(effects[i].owner)) == 0 && matches(effects[i].function, function)) {
			return effects[i].effect;
		}
	}
	return 0;
}
