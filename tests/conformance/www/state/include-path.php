<?php

echo get_include_path();
set_include_path('/left');
