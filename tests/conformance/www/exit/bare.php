<?php

exit;
