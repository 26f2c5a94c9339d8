/*
 * howdah_pool() of howdah.stub.php.
 */
#include "php/functions.h"

#include "clients.h"
#include "clients_pool.h"
#include "database/pdo/clients_pdo.h"

ZEND_FUNCTION(howdah_pool)
{
	zval *client;
	HashTable *options = NULL;
	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_ZVAL(client)
	Z_PARAM_OPTIONAL
	Z_PARAM_ARRAY_HT(options)
	ZEND_PARSE_PARAMETERS_END();

	struct howdah_client_settings settings = howdah_clients_settings();
	if (options && !howdah_clients_read_settings(options, &settings)) {
		RETURN_THROWS();
	}
	if (Z_TYPE_P(client) == IS_OBJECT && howdah_pdo_configure(Z_OBJ_P(client), &settings)) {
		RETURN_COPY(client);
	}
	zend_fcall_info factory;
	zend_fcall_info_cache cache;
	char *error = NULL;
	if (zend_fcall_info_init(client, 0, &factory, &cache, NULL, &error) == FAILURE) {
		zend_argument_type_error(1, "must be a PDO object or a callback that makes a client");
		if (error) {
			efree(error);
		}
		RETURN_THROWS();
	}
	howdah_pool_make(return_value, &factory, &cache, &settings);
}
