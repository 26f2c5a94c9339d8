/* The reflection of Howdah\Coroutine in howdah.stub.php, in the form of php-src's gen_stub.php. */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Howdah_Coroutine_await, 0, 0, IS_MIXED, 0)
ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeout, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Howdah_Coroutine_cancel, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Howdah_Coroutine_isDone, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry howdah_coroutine_methods[] = {
	ZEND_ME(Howdah_Coroutine, await, arginfo_class_Howdah_Coroutine_await, ZEND_ACC_PUBLIC)
		ZEND_ME(Howdah_Coroutine, cancel, arginfo_class_Howdah_Coroutine_cancel, ZEND_ACC_PUBLIC)
			ZEND_ME(Howdah_Coroutine, isDone, arginfo_class_Howdah_Coroutine_isDone, ZEND_ACC_PUBLIC) ZEND_FE_END};
