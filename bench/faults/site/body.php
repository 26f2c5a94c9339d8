<?php

echo strlen(file_get_contents('php://input')), "\n";
