<?php

printf('%03o', umask());
umask(077);
