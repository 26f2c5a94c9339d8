<?php
echo 'hello';
