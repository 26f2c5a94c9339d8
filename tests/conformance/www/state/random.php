<?php

mt_srand(5);
echo mt_rand(), ' ', mt_rand();
