--TEST--
Output much larger than the ring
--FILE--
<?php
for ($i = 0; $i < 20000; $i++) {
    echo str_pad((string) $i, 50, '.');
}
echo "\n", md5(implode('', array_map(fn ($i) => str_pad((string) $i, 50, '.'), range(0, 19999))));
--EXPECTREGEX--
0\.{49}1\.{49}.*19999\.{45}
[0-9a-f]{32}
