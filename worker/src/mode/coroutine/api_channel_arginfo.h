/* The reflection of Howdah\Channel in howdah.stub.php, in the form of php-src's gen_stub.php. */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Howdah_Channel___construct, 0, 0, 0)
ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, capacity, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Howdah_Channel_send, 0, 1, IS_VOID, 0)
ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeout, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Howdah_Channel_receive, 0, 0, IS_MIXED, 0)
ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeout, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Howdah_Channel_close, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Howdah_Channel_isClosed, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Howdah_Channel_count, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Howdah_Channel_getIterator, 0, 0, Iterator, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry howdah_channel_methods[] = {
	ZEND_ME(Howdah_Channel, __construct, arginfo_class_Howdah_Channel___construct, ZEND_ACC_PUBLIC)
		ZEND_ME(Howdah_Channel, send, arginfo_class_Howdah_Channel_send, ZEND_ACC_PUBLIC)
			ZEND_ME(Howdah_Channel, receive, arginfo_class_Howdah_Channel_receive, ZEND_ACC_PUBLIC)
				ZEND_ME(Howdah_Channel, close, arginfo_class_Howdah_Channel_close, ZEND_ACC_PUBLIC)
					ZEND_ME(Howdah_Channel, isClosed, arginfo_class_Howdah_Channel_isClosed, ZEND_ACC_PUBLIC)
						ZEND_ME(Howdah_Channel, count, arginfo_class_Howdah_Channel_count, ZEND_ACC_PUBLIC) ZEND_ME(
							Howdah_Channel, getIterator, arginfo_class_Howdah_Channel_getIterator, ZEND_ACC_PUBLIC)
							ZEND_FE_END};
