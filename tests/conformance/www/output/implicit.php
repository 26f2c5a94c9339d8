<?php

ob_implicit_flush();
echo 'a';
echo headers_sent() ? 'sent' : 'not sent';
ob_implicit_flush(false);
echo 'b';
