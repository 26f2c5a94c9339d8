<?php

return $_REQUEST['q'] ?? 'no q';
