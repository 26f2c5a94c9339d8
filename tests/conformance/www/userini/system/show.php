<?php

echo ini_get('expose_php'), ' ', strlen('abc'), ' ', ini_get('precision');
