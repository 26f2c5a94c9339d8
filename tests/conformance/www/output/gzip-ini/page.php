<?php

echo ini_get('zlib.output_compression'), str_repeat(' compressible', 200);
