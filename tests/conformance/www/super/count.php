<?php

echo count($_GET), ' ', count($_POST), ' ', count($_COOKIE);
