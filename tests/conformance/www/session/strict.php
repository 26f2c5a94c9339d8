<?php

ini_set('session.use_strict_mode', 1);
session_start();
echo session_id() === 'made0up0by0the0client' ? 'taken' : 'replaced';
