<?php

// The message contains a directory of the server.
echo @session_start() ? 'started' : 'refused';
