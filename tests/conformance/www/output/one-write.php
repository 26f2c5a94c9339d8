<?php

echo str_repeat("0123456789abcde\n", 65536);
