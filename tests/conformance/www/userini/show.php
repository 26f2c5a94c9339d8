<?php

echo ini_get('precision'), ' ', ini_get('highlight.comment'), ' ', ini_get('memory_limit'), ' ', 1 / 3;
