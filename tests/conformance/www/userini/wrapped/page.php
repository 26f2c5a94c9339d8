<?php

echo 'page';
