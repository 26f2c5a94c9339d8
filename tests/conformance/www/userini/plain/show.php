<?php

echo ini_get('precision'), ' ', ini_get('highlight.comment');
