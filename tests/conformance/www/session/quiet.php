<?php

// The message names the server's own directory.
echo @session_start() ? 'started' : 'refused';
