<?php

session_cache_expire(10);
session_cache_limiter($_GET['limiter']);
session_start();
echo session_cache_limiter(), ' ', session_cache_expire();
