--TEST--
mercure_publish() without a hub
--FILE--
<?php
try {
    mercure_publish('https://example.com/a', 'data');
} catch (RuntimeException $e) {
    echo $e->getMessage(), "\n";
}
echo "goes on\n";
--EXPECT--
No Mercure hub configured: add `mercure` to the site
goes on
