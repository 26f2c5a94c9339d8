<?php

echo 'before ';
undefined_function();
