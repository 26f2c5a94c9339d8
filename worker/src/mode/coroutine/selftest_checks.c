/*
 * The checks of the self-test: each tests behaviour that no interface of PHP promises, and that releases have changed.
 *
 * Rules: nothing is logged. A fatal error leaves a state that later checks must tolerate: such checks come last.
 */
#include "selftest_checks.h"

const char howdah_selftest_boot[] =
	"final class HowdahSelfTest {"
	" public static $list = ['x'];"
	" public static $database;"
	" public $self;"
	" function __destruct() { $GLOBALS['howdah'] = 'destroyed'; usleep(1); }"
	" static function load() {"
	"  spl_autoload_register(function ($c) { usleep(1); eval(\"class $c {}\"); }, true, true);"
	"  return get_class(new HowdahSelfTestLoaded);"
	" }"
	/* Requests to a connection: a name in its case, a row, a transaction. */
	" static function connection($name, $case) {"
	"  $d = self::$database;"
	"  $d->setAttribute(PDO::ATTR_CASE, $case);"
	"  $d->beginTransaction();"
	"  usleep(1);"
	"  $row = $d->query(\"SELECT '$name' AS Aa\")->fetch(PDO::FETCH_ASSOC);"
	"  usleep(1);"
	"  $row[] = $d->commit() && !$d->inTransaction() ? 'done' : 'open';"
	"  return implode(' ', array_keys($row)) . ' ' . implode(' ', $row);"
	" }"
	"}";

const char howdah_selftest_boot_database[] = "HowdahSelfTest::$database = new PDO('sqlite:/dev/null');";

const struct howdah_selftest_check howdah_selftest_checks[] = {
	{
		.what = "calls that wait do not let others run",
		.code = {"$t = hrtime(true); usleep(2000); return hrtime(true) - $t >= 2000000 ? 'slept' : 'early';",
			"return 'meanwhile';"},
		.needs = "hrtime",
		.returns = {"slept", "meanwhile"},
		.overtakes = true,
	},
	{
		.what = "global variables or output buffers are mixed",
		.code = {"ob_start(); $GLOBALS['howdah'] = 'a'; echo 'a'; usleep(1); echo $GLOBALS['howdah']; return "
				 "ob_get_clean();",
			"ob_start(); $GLOBALS['howdah'] = 'b'; echo 'b'; usleep(1); echo $GLOBALS['howdah']; return "
			"ob_get_clean();"},
		.needs = "ob_start ob_get_clean",
		.returns = {"aa", "bb"},
	},
	{
		.what = "headers or settings are mixed",
		.code = {"http_response_code(201); ini_set('precision', '5'); usleep(1); return http_response_code() . ' ' . "
				 "sqrt(2);",
			"http_response_code(404); ini_set('precision', '3'); usleep(1); return http_response_code() . ' ' . "
			"sqrt(2);"},
		.needs = "http_response_code ini_set sqrt",
		.returns = {"201 1.4142", "404 1.41"},
	},
	{
		.what = "a waiting Fiber does not continue",
		.code =
			{"$f = new Fiber(function ($x) { usleep(1); $y = Fiber::suspend($x . 'b'); usleep(1); return $y . 'd'; });"
			 "$r = $f->start('a'); usleep(1); $f->resume($r . 'c'); return $f->getReturn();",
				"$g = (function () { usleep(1); yield 1; usleep(1); yield 2; })(); return implode(',', "
				"iterator_to_array($g));"},
		.needs = "implode iterator_to_array",
		.classes = "fiber generator",
		.returns = {"abcd", "1,2"},
	},
	{
		.what = "exceptions and error_reporting are mixed",
		.code = {"try { try { throw new Exception('a'); } finally { usleep(1); } } catch (Exception $e) { return "
				 "$e->getMessage(); }",
			"$r = @(function () { usleep(1); return error_reporting(); })(); return $r === error_reporting() ? 'loud' "
			": 'silent';"},
		.needs = "error_reporting",
		.returns = {"a", "silent"},
	},
	{
		.what = "static variables are mixed",
		.code = {"$f = function ($x) { static $s = 0; $s += $x; usleep(1); return $s; }; $f(1); return (string)$f(1);",
			"$f = function ($x) { static $s = 0; $s += $x; usleep(1); return $s; }; $f(5); return (string)$f(5);"},
		.returns = {"2", "10"},
		.statics = true,
	},
	{
		.what = "static properties are mixed",
		.code = {"HowdahSelfTest::$list[] = 'a'; usleep(1); HowdahSelfTest::$list[] = 'a'; usleep(1); return "
				 "implode('', "
				 "HowdahSelfTest::$list);",
			"HowdahSelfTest::$list[] = 'b'; usleep(1); HowdahSelfTest::$list[] = 'b'; usleep(1); return implode('', "
			"HowdahSelfTest::$list);"},
		.needs = "implode",
		.returns = {"xaa", "xbb"},
		.statics = true,
	},
	{
		.what = "superglobals are mixed",
		.code = {"$_GET['n'] = $_SESSION['n'] = $_SERVER['n'] = 'a'; usleep(1); return $_GET['n'] . $_SESSION['n'] . "
				 "$_SERVER['n'];",
			"$_GET['n'] = $_SESSION['n'] = $_SERVER['n'] = 'b'; usleep(1); return $_GET['n'] . $_SESSION['n'] . "
			"$_SERVER['n'];"},
		.returns = {"aaa", "bbb"},
	},
	{
		.what = "sessions are mixed",
		.code = {"session_id('a'); session_name('A'); usleep(1); return session_id() . session_name();",
			"session_id('b'); session_name('B'); usleep(1); return session_id() . session_name();"},
		.needs = "session_id session_name",
		.returns = {"aA", "bB"},
	},
	{
		.what = "two requests load one class",
		.code = {"return HowdahSelfTest::load();", "return HowdahSelfTest::load();"},
		.needs = "spl_autoload_register get_class",
		.returns = {"HowdahSelfTestLoaded", "HowdahSelfTestLoaded"},
	},
	{
		.what = "the cycle collector has requests run in each other's state",
		.code = {"$GLOBALS['howdah'] = 'a'; $o = new HowdahSelfTest; $o->self = $o; unset($o); usleep(1);"
				 "gc_collect_cycles(); return $GLOBALS['howdah'];",
			"$GLOBALS['howdah'] = 'b'; $o = new HowdahSelfTest; $o->self = $o; unset($o); usleep(1);"
			"gc_collect_cycles(); return $GLOBALS['howdah'];"},
		.needs = "gc_collect_cycles",
		.returns = {"a", "b"},
	},
	{
		.what = "connections of one PDO object are mixed",
		.code = {"return HowdahSelfTest::connection('a', PDO::CASE_UPPER);",
			"return HowdahSelfTest::connection('b', PDO::CASE_LOWER);"},
		.needs = "implode array_keys",
		.returns = {"AA 0 a done", "aa 0 b done"},
		.database = true,
	},
	{
		.what = "exit() of a request ends others",
		.code = {"usleep(1); exit(3);", "for ($i = 0; $i < 5; $i++) { usleep(1); } return 'alive';"},
		.returns = {"(unwound)", "alive"},
	},
	{
		.what = "a request cannot be interrupted",
		.code = {"while (true) { }", "usleep(1); return 'alive';"},
		.returns = {"(unwound)", "alive"},
		.cancelled = true,
	},
	{
		.what = "a fatal error of a request harms others",
		.code = {"usleep(1); trigger_error('on purpose', E_USER_ERROR);",
			"$o = new class { public $d = ''; function __destruct() { $GLOBALS['howdah'] = 'destroyed'; } };"
			"for ($i = 0; $i < 5; $i++) { usleep(1); } unset($o); return $GLOBALS['howdah'];"},
		.needs = "trigger_error",
		.returns = {"(fatal)", "destroyed"},
	},
	{
		.what = "an exhausted memory limit of a request harms others",
		.code = {"$m = memory_get_usage(true); ini_set('memory_limit', (string)($m + (16 << 20))); usleep(1);"
				 "return strlen(str_repeat('x', 2 * $m + (128 << 20)));",
			"ini_set('memory_limit', (string)(memory_get_usage(true) + (16 << 20)));"
			"for ($i = 0; $i < 5; $i++) { usleep(1); } return json_encode(['a' => str_repeat('x', 3)]);"},
		.needs = "memory_get_usage ini_set str_repeat json_encode strlen",
		.returns = {"(fatal)", "{\"a\":\"xxx\"}"},
		.zend_alloc = true,
	},
};

const size_t howdah_selftest_check_count = sizeof(howdah_selftest_checks) / sizeof(*howdah_selftest_checks);
